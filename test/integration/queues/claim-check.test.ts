import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { createClaimCheck, type BodyOwner, type ClaimCheck, type PutBody } from "../../../src/queues/claim-check.ts";
import { useAzurite } from "../../support/services/shared.ts";

const BODY = Buffer.alloc(300_000, 0xfe);
const HOUR_MS = 3_600_000;
const OWNER: BodyOwner = {
  origin: "here",
  deliveryId: "dlv_1",
  broker: "azure-storage-queue",
  connection: "default",
  queue: "webhooks",
};

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
      const claim = await claims.put(`dlv_${body.length}-1`, body, OWNER);
      expect(claim).toMatchObject({ container, size: body.length });
      expect(await claims.read(claim)).toMatchObject({ body });
    }
  });

  it("is gone once it is removed, and may be removed twice", async () => {
    const claim = await claims.put("dlv_1-1", BODY, OWNER);
    const read = await claims.read(claim);
    const etag = "etag" in read ? read.etag : "";
    const removed = [await claims.removeUnchanged({ name: claim.blob, etag })];
    removed.push(await claims.removeUnchanged({ name: claim.blob, etag }));
    expect(removed).toEqual([true, false]);
    expect(await claims.read(claim)).toEqual({ problem: "The body that the message claims does not exist." });
  });

  // shows: Q49
  it("is not taken when it is not what was claimed", async () => {
    const claim = await claims.put("dlv_1-1", BODY, OWNER);
    const wrong = { problem: "The body that the message claims is not the one that was stored." };
    expect(await claims.read({ ...claim, sha256: "0".repeat(64) })).toEqual(wrong);
    expect(await claims.read({ ...claim, size: 3 })).toEqual(wrong);
    expect(await claims.read({ ...claim, size: 2_000_000 })).toMatchObject({
      problem: expect.stringContaining("the maximum is 1000000") as string,
    });
  });

  // shows: Q49
  it("is not read in another container", async () => {
    const other = createClaimCheck({ account: { connectionString }, container: `${container}x`, maxBytes: 1_000_000 });
    const claim = await other.put("dlv_1-1", BODY, OWNER);
    expect(await claims.read(claim)).toMatchObject({ problem: expect.stringContaining("another container") as string });
    expect(await other.read(claim)).toMatchObject({ body: BODY });
  });

  it("tells whose it is and when it was put, page by page, and is removed only as it was then", async () => {
    for (const name of ["a", "b", "c"]) await claims.put(name, BODY, { ...OWNER, deliveryId: `dlv_${name}` });
    const first = await claims.list(2);
    expect(first.bodies).toMatchObject([
      { name: "a", owner: { ...OWNER, deliveryId: "dlv_a" } },
      { name: "b", owner: { ...OWNER, deliveryId: "dlv_b" } },
    ]);
    expect(Math.abs(Date.now() - (first.bodies[0]?.putAt ?? 0))).toBeLessThan(HOUR_MS);
    const second = await claims.list(2, first.next);
    expect([second.bodies.map(({ name }) => name), second.next]).toEqual([["c"], undefined]);
    const [a, b] = first.bodies as [PutBody, PutBody];
    await claims.put("a", BODY, OWNER);
    expect([await claims.removeUnchanged(a), await claims.removeUnchanged(b)]).toEqual([false, true]);
    expect(await claims.removeUnchanged(b)).toBe(false);
    expect((await claims.list(9)).bodies.map(({ name }) => name)).toEqual(["a", "c"]);
  });
});
