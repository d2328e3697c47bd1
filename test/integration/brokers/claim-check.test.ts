import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { createClaimCheck, type ClaimCheck } from "../../../src/brokers/claim-check.ts";
import { useAzurite } from "../../support/services/shared.ts";

const BODY = Buffer.alloc(300_000, 0xfe);
const HOUR_MS = 3_600_000;

let claims: ClaimCheck;
let container: string;
let connectionString: string;

beforeEach(async (context) => {
  connectionString = await useAzurite(context);
  container = `test-${randomUUID()}`;
  claims = createClaimCheck({ account: { connectionString }, container, maxBytes: 1_000_000 });
});

describe("a body in Blob storage", () => {
  it("comes back byte for byte, an empty one too", async () => {
    for (const body of [BODY, Buffer.alloc(0), Buffer.from([0])]) {
      const claim = await claims.put(`dlv_${body.length}-1`, body);
      expect(claim).toMatchObject({ container, size: body.length });
      expect(await claims.read(claim)).toEqual({ body });
    }
  });

  it("is gone once it is removed, and may be removed twice", async () => {
    const claim = await claims.put("dlv_1-1", BODY);
    await claims.remove(claim);
    await claims.remove(claim);
    expect(await claims.read(claim)).toEqual({ problem: "The body that it claims is not there." });
  });

  it("is not taken when it is not what was claimed", async () => {
    const claim = await claims.put("dlv_1-1", BODY);
    const wrong = { problem: "The body that it claims is not the one that was put there." };
    expect(await claims.read({ ...claim, sha256: "0".repeat(64) })).toEqual(wrong);
    expect(await claims.read({ ...claim, size: 3 })).toEqual(wrong);
    expect(await claims.read({ ...claim, size: 2_000_000 })).toMatchObject({
      problem: expect.stringContaining("1000000 are taken") as string,
    });
  });

  it("is neither read nor removed in another container", async () => {
    const other = createClaimCheck({ account: { connectionString }, container: `${container}x`, maxBytes: 1_000_000 });
    const claim = await other.put("dlv_1-1", BODY);
    expect(await claims.read(claim)).toMatchObject({ problem: expect.stringContaining("another container") as string });
    await claims.remove(claim);
    expect(await other.read(claim)).toEqual({ body: BODY });
  });

  it("is swept away only when its message was never sent, and after a while", async () => {
    const orphan = await claims.put("dlv_1-1", BODY);
    const sent = await claims.put("dlv_2-1", BODY);
    await claims.confirm(sent);
    expect(await claims.sweep(Date.now() - HOUR_MS)).toBe(0);
    expect(await claims.sweep(Date.now() + HOUR_MS)).toBe(1);
    expect(await claims.read(orphan)).toHaveProperty("problem");
    expect(await claims.read(sent)).toEqual({ body: BODY });
  });
});
