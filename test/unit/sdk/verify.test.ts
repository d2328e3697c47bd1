import { randomBytes } from "node:crypto";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { describe, expect, it } from "vitest";
import {
  sign,
  verify,
  verifyRequest,
  type VerificationErrorCode,
  WebhookVerificationError,
} from "../../../sdk/src/index.ts";
import { createEd25519Key, publicKeyOf, createSecret, createSigner } from "../../../src/model/signature.ts";

const random = { bytes: (count: number) => randomBytes(count), next: () => 0.5 };
const SECRET = createSecret(random);
const OTHER = createSecret(random);
const BODY = '{"n":12345678901234567890,"text":"Grüße"}';
const NOW_S = 1_790_000_000;
const at = { now: () => NOW_S * 1000 };

/** The headers that the gateway itself sends. */
function gatewayHeaders(body: string | Uint8Array, secrets: readonly string[], ed25519Key?: string) {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const { plain, standard } = createSigner(secrets, { ed25519Key }).sign("evt_1", NOW_S, bytes);
  return {
    "webhook-id": "evt_1",
    "webhook-timestamp": String(NOW_S),
    "webhook-signature": standard,
    "X-Webhook-Signature": plain,
    "X-Webhook-Timestamp": String(NOW_S),
  };
}

async function codeOf(result: Promise<unknown>): Promise<VerificationErrorCode | "verified"> {
  try {
    await result;
    return "verified";
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.code;
    throw error;
  }
}

describe("a webhook of the gateway", () => {
  it("is verified by the signature of Standard Webhooks", async () => {
    const verified = await verify(BODY, gatewayHeaders(BODY, [SECRET]), SECRET, at);
    expect(verified).toMatchObject({ scheme: "standard", id: "evt_1", sentAt: new Date(NOW_S * 1000) });
    expect(Buffer.from(verified.body).toString()).toBe(BODY);
  });

  it("is verified by either of two live secrets, on either side", async () => {
    const headers = gatewayHeaders(BODY, [OTHER, SECRET]);
    expect(await codeOf(verify(BODY, headers, SECRET, at))).toBe("verified");
    expect(await codeOf(verify(BODY, gatewayHeaders(BODY, [SECRET]), [OTHER, SECRET], at))).toBe("verified");
  });

  it("is verified with the public key alone where it is signed with a key pair", async () => {
    const key = createEd25519Key(random);
    const headers = gatewayHeaders(BODY, [SECRET], key);
    expect(await codeOf(verify(BODY, headers, publicKeyOf(key), at))).toBe("verified");
    const another = publicKeyOf(createEd25519Key(random));
    expect(await codeOf(verify(BODY, headers, another, at))).toBe("wrong_signature");
  });

  it("is verified with a secret that the receiver had before", async () => {
    const plain = "a secret of our own, with Umläuten";
    expect(await codeOf(verify(BODY, gatewayHeaders(BODY, [plain]), plain, at))).toBe("verified");
  });

  // shows: C41
  it("is verified by the plain signature, with its prefix and without", async () => {
    const { "X-Webhook-Signature": signature } = gatewayHeaders(BODY, [SECRET]);
    const headers = { "x-webhook-signature": signature };
    expect(await verify(BODY, headers, SECRET, at)).toMatchObject({
      scheme: "plain",
      id: undefined,
      sentAt: undefined,
    });
    expect(await codeOf(verify(BODY, { "x-webhook-signature": signature.slice(7) }, SECRET, at))).toBe("verified");
    expect(await codeOf(verify(BODY, { "x-hub": signature }, SECRET, { ...at, signatureHeader: "X-Hub" }))).toBe(
      "verified",
    );
  });

  it("is verified as any bytes", async () => {
    const bytes = randomBytes(10_000);
    const headers = new Headers(gatewayHeaders(bytes, [SECRET]));
    expect(await codeOf(verify(bytes, headers, SECRET, at))).toBe("verified");
    const { buffer, byteOffset, length } = bytes;
    const copy = buffer.slice(byteOffset, byteOffset + length);
    expect(await codeOf(verify(copy, headers, SECRET, at))).toBe("verified");
  });

  it("is verified as a request of the Fetch API", async () => {
    const request = new Request("http://127.0.0.1/hook", {
      method: "POST",
      body: BODY,
      headers: gatewayHeaders(BODY, [SECRET]),
    });
    expect(await codeOf(verifyRequest(request, SECRET, at))).toBe("verified");
  });
});

describe("what is rejected", () => {
  const headers = gatewayHeaders(BODY, [SECRET]);
  const { "X-Webhook-Signature": plain } = headers;
  const md5 = `md5=${plain.slice(7)}`;

  it.each<[string, VerificationErrorCode, () => Promise<unknown>]>([
    ["a body with one more space", "wrong_signature", () => verify(`${BODY} `, headers, SECRET, at)],
    ["another secret", "wrong_signature", () => verify(BODY, headers, OTHER, at)],
    ["another id", "wrong_signature", () => verify(BODY, { ...headers, "webhook-id": "evt_2" }, SECRET, at)],
    ["an id with a dot", "malformed_header", () => verify(BODY, { ...headers, "webhook-id": "evt.1" }, SECRET, at)],
    ["no id", "missing_header", () => verify(BODY, { ...headers, "webhook-id": undefined }, SECRET, at)],
    ["an id that is there twice", "missing_header", () => verify(BODY, { ...headers, "Webhook-Id": "x" }, SECRET, at)],
    ["an empty signature", "missing_header", () => verify(BODY, { ...headers, "webhook-signature": "" }, SECRET, at)],
    [
      "a time that is none",
      "malformed_header",
      () => verify(BODY, { ...headers, "webhook-timestamp": "1e9" }, SECRET, at),
    ],
    ["an old one", "stale_timestamp", () => verify(BODY, headers, SECRET, { now: () => (NOW_S + 301) * 1000 })],
    ["one of the future", "stale_timestamp", () => verify(BODY, headers, SECRET, { now: () => (NOW_S - 301) * 1000 })],
    [
      "another version of the standard",
      "wrong_signature",
      () =>
        verify(BODY, { ...headers, "webhook-signature": headers["webhook-signature"].replace("v1", "v2") }, SECRET, at),
    ],
    [
      "v1 without a signature",
      "wrong_signature",
      () => verify(BODY, { ...headers, "webhook-signature": "v1," }, SECRET, at),
    ],
    [
      "the plain one alone, where it is not enough",
      "missing_header",
      () => verify(BODY, { "x-webhook-signature": plain }, SECRET, { ...at, scheme: "standard" }),
    ],
    ["another algorithm", "malformed_header", () => verify(BODY, { "x-webhook-signature": md5 }, SECRET, at)],
    ["capitals in hex", "malformed_header", () => verify(BODY, { "x-webhook-signature": "AB" }, SECRET, at)],
    ["a short signature", "wrong_signature", () => verify(BODY, { "x-webhook-signature": "sha256=ab" }, SECRET, at)],
    ["an empty secret", "invalid_secret", () => verify(BODY, headers, "", at)],
    ["no secret at all", "invalid_secret", () => verify(BODY, headers, [], at)],
    ["a secret that is not set", "invalid_secret", () => verify(BODY, headers, undefined as unknown as string, at)],
    ["one of several that is not set", "invalid_secret", () => verify(BODY, headers, [undefined as never], at)],
    ["a garbled secret", "invalid_secret", () => verify(BODY, headers, "whsec_???", at)],
    ["a garbled public key", "invalid_secret", () => verify(BODY, headers, "whpk_AAAA", at)],
  ])("%s", async (_, code, result) => {
    expect(await codeOf(result())).toBe(code);
  });

  it("has a status by whose mistake it is", async () => {
    expect(new WebhookVerificationError("wrong_signature", "").status).toBe(401);
    expect(new WebhookVerificationError("invalid_secret", "").status).toBe(500);
  });

  it("may be as old as the receiver says", async () => {
    const later = { now: () => (NOW_S + 3600) * 1000, toleranceS: 3600 };
    expect(await codeOf(verify(BODY, headers, SECRET, later))).toBe("verified");
  });
});

describe("what is signed for a test", () => {
  it("is taken by the official libraries, and by this one", async () => {
    const headers = await sign(BODY, [SECRET, OTHER]);
    for (const secret of [SECRET, OTHER]) {
      expect(new StandardWebhook(secret).verify(BODY, headers)).toBeDefined();
      expect(new SvixWebhook(secret).verify(BODY, headers)).toBeDefined();
      expect(await codeOf(verify(BODY, headers, secret))).toBe("verified");
    }
    expect(await codeOf(verify(BODY, headers, SECRET, { scheme: "plain" }))).toBe("verified");
    expect(await codeOf(verify(BODY, headers, createSecret(random)))).toBe("wrong_signature");
  });

  it("is the same as the gateway signs", async () => {
    const key = createEd25519Key(random);
    const signed = await sign(BODY, [SECRET, key], { id: "evt_1", sentAt: new Date(NOW_S * 1000) });
    const ofGateway = gatewayHeaders(BODY, [SECRET], key);
    expect(signed["webhook-signature"]).toBe(ofGateway["webhook-signature"]);
    expect(signed["x-webhook-signature"]).toBe(ofGateway["X-Webhook-Signature"]);
  });

  it("verifies what the official libraries sign", async () => {
    const sentAt = new Date(NOW_S * 1000);
    const signature = new StandardWebhook(SECRET).sign("msg_1", sentAt, BODY);
    const headers = { "webhook-id": "msg_1", "webhook-timestamp": String(NOW_S), "webhook-signature": signature };
    expect(await codeOf(verify(BODY, headers, SECRET, at))).toBe("verified");
  });
});
