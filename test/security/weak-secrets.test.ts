import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SourceInput } from "../../src/model/source.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { NO_BASE64, NO_HEX, NO_SECRETS } from "../support/weak-secrets.ts";

const PATH = "/api/v1/sources";
const GOOD = "a-good-secret-0123456789";
const BODY = '{"forged":true}';
const HEX = { header: "X-Signature", secret_encoding: "hex" };
const BASE64 = { header: "X-Signature", secret_encoding: "base64" };
const GOOD_HEX = "000102030405060708090a0b0c0d0e0f";
/** What somebody sends who knows no secret. */
const SIGNED_WITH_NOTHING = createHmac("sha256", "").update(BODY).digest("hex");

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const send = (method: string, path: string, body: unknown) =>
  gateway.request(method, `${PATH}${path}`, {
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });

type Case = [input: Omit<SourceInput, "name">, field: string];
const CASES: Case[] = [
  ...NO_SECRETS.map((secret): Case => [{ kind: "github", secrets: [secret] }, "secrets[0]"]),
  ...NO_SECRETS.map((secret): Case => [{ kind: "standard-webhooks", secrets: [secret] }, "secrets[0]"]),
  ...NO_SECRETS.map((secret): Case => [{ kind: "api-key", secrets: [secret] }, "secrets[0]"]),
  ...NO_SECRETS.map((secret): Case => [{ kind: "basic", secrets: [`ada:${secret}`] }, "secrets[0]"]),
  ...NO_SECRETS.map((secret): Case => [{ kind: "smartsheet", secrets: [secret] }, "secrets[0]"]),
  ...NO_SECRETS.map((token): Case => [{ auth: { header: "X-Token", token } }, "auth.token"]),
  ...NO_HEX.map((secret): Case => [{ kind: "hmac", secrets: [secret], options: HEX }, "secrets[0]"]),
  ...NO_BASE64.map((secret): Case => [{ kind: "hmac", secrets: [secret], options: BASE64 }, "secrets[0]"]),
  [{ path_token: "a".repeat(32) }, "path_token"],
  [{ kind: "github", secrets: [GOOD, "x"] }, "secrets[1]"],
];

describe("a secret that can be guessed", () => {
  it("is rejected by name wherever one can be given, and never said back", async () => {
    await gateway.post(PATH, { name: "good", kind: "github", secrets: [GOOD] });
    for (const [input, field] of CASES) {
      const made = await send("POST", "", { name: "weak", ...input });
      expect([input, made.status, made.json["code"], made.json["field"]]).toEqual([input, 422, "invalid_field", field]);
      const put = await send("PUT", "/good", input);
      expect([input, put.status, put.json["field"]]).toEqual([input, 422, field]);
      const said = input.secrets?.filter((secret) => secret.length > 8 && made.text.includes(secret)) ?? [];
      expect(said).toEqual([]);
    }
    expect((await gateway.get(`${PATH}/weak`)).status).toBe(404);
  });

  it("is rejected by PATCH and by a rotation, also when only the encoding changes", async () => {
    await gateway.post(PATH, { name: "turned", kind: "hmac", secrets: [GOOD_HEX], options: HEX });
    for (const secret of [...NO_HEX, ...NO_SECRETS]) {
      const changed = await send("PATCH", "/turned", { secrets: [secret] });
      expect([secret, changed.status, changed.json["field"]]).toEqual([secret, 422, "secrets[0]"]);
      const rotated = await send("POST", "/turned/rotate-secret", { secret });
      expect([secret, rotated.status, rotated.json["field"]]).toEqual([secret, 422, "secret"]);
    }
    await gateway.post(PATH, { name: "texted", kind: "hmac", secrets: [GOOD], options: { header: "X-Signature" } });
    const turned = await send("PATCH", "/texted", { options: HEX });
    expect([turned.status, turned.json["field"]]).toEqual([422, "secrets"]);
    expect((await send("PATCH", "/texted", { options: HEX, secrets: [GOOD_HEX] })).status).toBe(200);
    expect((await send("PATCH", "/texted", { max_bytes: 100 })).status).toBe(200);
  });

  it("is never made: a rotation gives one in the encoding of the source, and nobody can forge", async () => {
    await gateway.post(PATH, { name: "rotated", kind: "hmac", secrets: [GOOD_HEX], options: HEX });
    const rotated = await gateway.post(`${PATH}/rotated/rotate-secret`, { overlap_s: 0 });
    const secret = String(rotated.json["secret"]);
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    // What a rotation made before had no key behind it.
    expect(Buffer.from(`whsec_${Buffer.alloc(32, 9).toString("base64")}`, "hex")).toHaveLength(0);
    const forged = await gateway.webhook("rotated", BODY, { "x-signature": SIGNED_WITH_NOTHING });
    expect(forged.status).toBe(401);
    const signature = createHmac("sha256", Buffer.from(secret, "hex")).update(BODY).digest("hex");
    expect((await gateway.webhook("rotated", BODY, { "x-signature": signature })).status).toBe(202);

    await gateway.post(PATH, { name: "keyed", kind: "discord", secrets: ["ab".repeat(12) + "cdef0123".repeat(5)] });
    const impossible = await gateway.post(`${PATH}/keyed/rotate-secret`, {});
    expect([impossible.status, impossible.json["field"]]).toEqual([422, "secret"]);
  });

  it.each([
    `{ name: weak, kind: github, secrets: ["x"] }`,
    `{ name: weak, kind: hmac, secrets: ["0x000102030405060708090a0b0c0d0e0f"], options: { header: X-A, secret_encoding: hex } }`,
    `{ name: weak, kind: standard-webhooks, secrets: ["whsec_AA=="] }`,
    `{ name: weak, kind: basic, secrets: ["ada:short"] }`,
    `{ name: weak, auth: { header: X-Token, token: short } }`,
  ])("makes a configuration that is not valid: %s", async (source) => {
    await expect(gateway.reload(`sources: [${source}]`)).rejects.toMatchObject({ code: "config_invalid" });
    expect((await gateway.get(`${PATH}/weak`)).status).toBe(404);
  });
});
