import { stored } from "../../../src/model/accepted.ts";
import { createHmac, createPrivateKey, createPublicKey, sign as signBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { Stripe } from "stripe";
import { describe, expect, it } from "vitest";
import { createProviderKinds } from "../../../src/sources/kinds.ts";
import type { ArrivedRequest } from "../../../src/sources/source-kind.ts";
import { SIGNED_AT, arrive, type SourceFixture } from "../../contract/source-fixture.ts";
import { fixture as apiKey } from "../../contract/sources/api-key.ts";
import { fixture as basic } from "../../contract/sources/basic.ts";
import { fixture as gitlab } from "../../contract/sources/gitlab.ts";
import { fixture as gitlabSigned } from "../../contract/sources/gitlab-signed.ts";
import { fixture as hubspot } from "../../contract/sources/hubspot.ts";
import { fixture as shopify } from "../../contract/sources/shopify.ts";
import { fixture as square } from "../../contract/sources/square.ts";
import { fixture as standard } from "../../contract/sources/standard-webhooks.ts";
import { fixture as stripe } from "../../contract/sources/stripe.ts";
import { codeOf, readRequest } from "./read-kind.ts";

function verdict(fixture: SourceFixture, request: ArrivedRequest, change: object = {}): Promise<unknown> {
  return codeOf(() => fixture.kind.verify?.(request, { ...fixture.settings, ...change }));
}

function withHeaders(request: ArrivedRequest, headers: Record<string, string | undefined>): ArrivedRequest {
  return { ...request, headers: { ...request.headers, ...headers } };
}

describe("Stripe", () => {
  const request = stripe.sign(SIGNED_AT);
  const [secret = ""] = stripe.settings.secrets;
  const header = String(request.headers["stripe-signature"]);

  it("may sign with several secrets while one is rolled", async () => {
    const wrong = `v1=${"0".repeat(64)}`;
    const [time, good] = header.split(",");
    for (const list of [`${time},${wrong},${good}`, `${time},${good},${wrong},v0=1`, `${time}, ${good}`]) {
      expect(await verdict(stripe, withHeaders(request, { "stripe-signature": list }))).toBeUndefined();
    }
  });

  it("is not believed by another scheme, or without a time", async () => {
    const v0 = Stripe.webhooks.generateTestHeaderString({
      payload: request.body.toString(),
      secret,
      timestamp: SIGNED_AT / 1000,
      scheme: "v0",
    });
    const timeless = createHmac("sha256", secret).update(".").update(request.body).digest("hex");
    for (const value of [v0, `v1=${timeless}`, `t=,v1=${timeless}`]) {
      expect(await verdict(stripe, withHeaders(request, { "stripe-signature": value }))).toBe("bad_signature");
    }
  });

  it("may have another tolerance", async () => {
    const late = { ...request, receivedAt: SIGNED_AT + 10_000 };
    expect(await verdict(stripe, late, { options: { tolerance_s: 9 } })).toBe("bad_signature");
    expect(await verdict(stripe, late, { options: { tolerance_s: 10 } })).toBeUndefined();
  });
});

describe("Standard Webhooks", () => {
  const request = standard.sign(SIGNED_AT);

  it("takes any signature of the list", async () => {
    const good = String(request.headers["webhook-signature"]);
    for (const list of [`v1,bm9wZQ== ${good}`, `${good} v1a,bm9wZQ==`, `v2,x ${good}`]) {
      expect(await verdict(standard, withHeaders(request, { "webhook-signature": list }))).toBeUndefined();
    }
  });

  it("takes Ed25519 by the public key", async () => {
    const key = createPrivateKey({
      key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.alloc(32, 9)]),
      format: "der",
      type: "pkcs8",
    });
    const raw = createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-32);
    const { "webhook-id": id, "webhook-timestamp": time } = request.headers;
    const signed = Buffer.concat([Buffer.from(`${String(id)}.${String(time)}.`), request.body]);
    const signature = `v1a,${signBytes(null, signed, key).toString("base64")}`;
    const secrets = [`whpk_${raw.toString("base64")}`];
    const asymmetric = withHeaders(request, { "webhook-signature": signature });
    expect(await verdict(standard, asymmetric, { secrets })).toBeUndefined();
    expect(await verdict(standard, { ...asymmetric, body: Buffer.from("{}") }, { secrets })).toBe("bad_signature");
    // A public key is no secret: whoever has it must not be able to sign with it.
    const asSecret = new Webhook(raw.toString("base64")).sign(String(id), new Date(SIGNED_AT), request.body);
    expect(await verdict(standard, withHeaders(request, { "webhook-signature": asSecret }), { secrets })).toBe(
      "bad_signature",
    );
  });

  it("rejects an id with a dot, whose bytes could be read as another id, time and body", async () => {
    const [secret = ""] = standard.settings.secrets;
    const dotted = withHeaders(request, {
      "webhook-id": "a.b",
      "webhook-signature": new Webhook(secret).sign("a.b", new Date(SIGNED_AT), request.body),
    });
    expect(await verdict(standard, dotted)).toBe("bad_signature");
  });

  it("signs nothing with a secret that is none", async () => {
    const { "webhook-id": id, "webhook-timestamp": time } = request.headers;
    const empty = createHmac("sha256", "")
      .update(`${String(id)}.${String(time)}.`)
      .update(request.body);
    const forged = withHeaders(request, { "webhook-signature": `v1,${empty.digest("base64")}` });
    for (const secret of ["whsec_", "whsec_!!", "", "whpk_AA=="]) {
      expect(await verdict(standard, forged, { secrets: [secret] })).toBe("bad_signature");
    }
  });
});

describe("GitLab", () => {
  it("may change from a token to a signing token", async () => {
    const secrets = [...gitlabSigned.settings.secrets, ...gitlab.settings.secrets];
    expect(await verdict(gitlab, gitlab.sign(SIGNED_AT), { secrets })).toBeUndefined();
    expect(await verdict(gitlab, gitlabSigned.sign(SIGNED_AT), { secrets })).toBeUndefined();
    expect(await verdict(gitlab, gitlabSigned.sign(SIGNED_AT))).toBe("bad_signature");
  });

  it("must not have both right but the signature", async () => {
    const secrets = [...gitlabSigned.settings.secrets, ...gitlab.settings.secrets];
    const swapped = { ...gitlabSigned.sign(SIGNED_AT), body: Buffer.from("{}") };
    const token = gitlab.settings.secrets[0];
    expect(await verdict(gitlab, withHeaders(swapped, { "x-gitlab-token": token }), { secrets })).toBe("bad_signature");
  });
});

it("Shopify's newer headers count as well", async () => {
  const { body, headers } = shopify.sign(SIGNED_AT);
  const newer = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.replace(/^x-/, ""), value]));
  const request = arrive("shopify", { at: SIGNED_AT, headers: newer, body });
  expect(await verdict(shopify, request)).toBeUndefined();
  expect(readRequest(shopify.kind, request, shopify.settings).events[0]).toMatchObject(shopify.expected);
});

it.each([
  ["square", square],
  ["hubspot", hubspot],
] as const)("the URL is part of what is signed: %s", async (_name, fixture) => {
  const request = fixture.sign(SIGNED_AT);
  const elsewhere = { ...request, url: "http://10.0.0.1:8080/webhook/x" };
  expect(await verdict(fixture, elsewhere)).toBe("bad_signature");
  expect(await verdict(fixture, elsewhere, { options: { url: request.url } })).toBeUndefined();
});

describe("a key in a header", () => {
  it("may stand after Bearer", async () => {
    const [key = ""] = apiKey.settings.secrets;
    const request = arrive("keyed", { at: SIGNED_AT, headers: { authorization: `Bearer ${key}` } });
    expect(await verdict(apiKey, request, { options: { header: "Authorization" } })).toBeUndefined();
    expect(await verdict(apiKey, request)).toBe("bad_signature");
  });

  it("is in x-api-key unless the source says otherwise", async () => {
    const request = arrive("keyed", { at: SIGNED_AT, headers: { "x-api-key": apiKey.settings.secrets[0] } });
    expect(await verdict(apiKey, request, { options: {} })).toBeUndefined();
  });
});

it("a user and a password come by HTTP Basic and by nothing else", async () => {
  const encoded = Buffer.from(String(basic.settings.secrets[0])).toString("base64");
  for (const [value, code] of [
    [`basic ${encoded}`, undefined],
    [`Bearer ${encoded}`, "bad_signature"],
    [encoded, "bad_signature"],
    ["Basic ", "bad_signature"],
  ] as const) {
    const request = arrive("basic", { at: SIGNED_AT, headers: { authorization: value } });
    expect([value, await verdict(basic, request)]).toEqual([value, code]);
  }
});

it("the answers are what the providers ask for", () => {
  const kinds = createProviderKinds({ fetchText: () => Promise.reject(new Error("offline")) });
  const answers = kinds.flatMap(({ name, answer }) =>
    answer === undefined ? [] : [[name, answer(stored("evt_1", 1, []))]],
  );
  expect(Object.fromEntries(answers)).toEqual({
    discord: { status: 204 },
    "microsoft-graph": { status: 202 },
    slack: { status: 200 },
    twilio: {
      status: 200,
      headers: { "content-type": "text/xml" },
      body: '<?xml version="1.0" encoding="UTF-8"?><Response></Response>',
    },
  });
});
