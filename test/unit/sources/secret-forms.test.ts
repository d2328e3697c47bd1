import { createHmac, createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { describe, expect, it } from "vitest";
import { NO_CONNECTIONS } from "../../../src/queues/connections.ts";
import { createSystemRandom } from "../../../src/model/clock.ts";
import { findEd25519Key } from "../../../src/sources/signatures.ts";
import { hmac } from "../../../src/sources/hmac.ts";
import { TEXT_SECRET } from "../../../src/model/secrets.ts";
import { PLUGINS } from "../../../src/plugins.ts";
import { createSourceKinds } from "../../../src/sources/kinds.ts";
import { standardWebhooks } from "../../../src/sources/standard-webhooks.ts";
import { PROVIDER_FIXTURES } from "../../contract/sources/all.ts";
import { arrive, settingsOf } from "../../contract/source-fixture.ts";
import { NO_BASE64, NO_HEX, NO_SECRETS } from "../../support/weak-secrets.ts";

const random = createSystemRandom();
const fetchText = () => Promise.reject(new Error("nothing is fetched here"));
const plugged = await Promise.all(PLUGINS.map((plugin) => plugin.loadSourceKinds()));
const kinds = createSourceKinds({ fetchText, connections: NO_CONNECTIONS }, plugged.flat());
const withSecrets = [...kinds.values()].filter(
  ({ needsSecret, secretForm }) => needsSecret || secretForm !== undefined,
);
const formOf = (name: string, options = {}) => kinds.get(name)?.secretForm?.(options) ?? TEXT_SECRET;
/** Fifteen bytes are what Dropbox gives, and to guess a public key helps nobody. */
const EXCEPT: Readonly<Record<string, readonly string[]>> = {
  dropbox: ["fifteen-bytes-0"],
  discord: ["a".repeat(64)],
};
const publicKey = () => generateKeyPairSync("ed25519").publicKey.export({ format: "der", type: "spki" }).subarray(-32);

describe("the secrets of a kind", () => {
  it.each(withSecrets.map(({ name }) => name))("are none of what anybody can guess: %s", (name) => {
    const form = formOf(name);
    const guessable = NO_SECRETS.filter((text) => !EXCEPT[name]?.includes(text));
    expect(guessable.filter((text) => form.findProblem(text) === undefined)).toEqual([]);
    const said = guessable.filter((text) => text.length > 8 && form.findProblem(text)?.includes(text) === true);
    expect(said).toEqual([]);
  });

  it("are made so that the same kind takes them, where not only the provider can make them", () => {
    const bad = withSecrets.filter(({ name }) => {
      const form = formOf(name);
      const made = form.create(random, undefined);
      const next = form.create(random, made);
      return made === undefined || next === undefined || made === next || [made, next].some(form.findProblem);
    });
    expect(bad.map(({ name }) => name)).toEqual(["discord", "sendgrid"]);
  });

  it.each(Object.values(PROVIDER_FIXTURES).filter(({ settings }) => settings.secrets.length > 0))(
    "are what its provider gives: $kind.name",
    ({ kind, settings }) => {
      const form = kind.secretForm?.(settings.options) ?? TEXT_SECRET;
      expect(settings.secrets.map((secret) => form.findProblem(secret))).toEqual([undefined]);
    },
  );

  it("are at least as long as everywhere, but for Dropbox, which makes them of 15 characters", () => {
    expect(formOf("dropbox").findProblem("abcdefghijklmno")).toBeUndefined();
    expect(formOf("dropbox").findProblem("abcdefghijklmn")).toContain("14 bytes");
    const shorter = withSecrets.filter(({ name }) => formOf(name).findProblem("abcdefghijklmno") === undefined);
    expect(shorter.map(({ name }) => name)).toEqual(["dropbox"]);
  });

  it("are written as `secret_encoding` says", () => {
    const hex = formOf("hmac", { secret_encoding: "hex" });
    const base64 = formOf("hmac", { secret_encoding: "base64" });
    expect(NO_HEX.filter((text) => hex.findProblem(text) === undefined)).toEqual([]);
    expect(NO_BASE64.filter((text) => base64.findProblem(text) === undefined)).toEqual([]);
    expect(hex.create(random, undefined)).toMatch(/^[0-9a-f]{64}$/);
    expect(base64.create(random, undefined)).toMatch(/^[A-Za-z0-9+/]{43}=$/);
    const key = Buffer.from(random.bytes(32));
    expect(hex.findProblem(key.toString("hex").toUpperCase())).toBeUndefined();
    for (const text of [key.toString("base64"), key.toString("base64url"), key.toString("base64").replace("=", "")]) {
      expect(base64.findProblem(text)).toBeUndefined();
    }
  });

  it("keep their form when they are made anew: a signing token of GitLab, the user of basic", () => {
    const gitlab = formOf("gitlab");
    expect(gitlab.create(random, "whsec_AAECAwQFBgcICQoLDA0ODw==")).toMatch(/^whsec_/);
    expect(gitlab.create(random, "a-mere-token-0123456789")).not.toMatch(/^whsec_/);
    expect(formOf("basic").create(random, "ada:a-password-0123456789")).toMatch(/^ada:[0-9a-f]{64}$/);
    expect(formOf("basic").findProblem("ada-and-no-password-0123456789")).toBe("is not user:password");
    expect(formOf("basic").findProblem("ada-lovelace-the-countess:short")).toContain("password");
  });

  it("go into a header in ASCII only, and elsewhere as any text", () => {
    for (const name of ["api-key", "gitlab"])
      expect(formOf(name).findProblem("schlüssel-für-alle-da")).toContain("ASCII");
    expect(formOf("github").findProblem("schlüssel-für-alle-da")).toBeUndefined();
  });
});

describe("a public key", () => {
  const weak = Buffer.from(`01${"00".repeat(31)}`, "hex");

  it("under which anybody can sign is none", () => {
    // Its order is one: the product of it and any number is nothing, and R = sB fits every message.
    const B = Buffer.from(`58${"66".repeat(31)}`, "hex");
    const forged = Buffer.concat([B, Buffer.from(`01${"00".repeat(31)}`, "hex")]);
    const head = Buffer.from("302a300506032b6570032100", "hex");
    const taken = createPublicKey({ key: Buffer.concat([head, weak]), format: "der", type: "spki" });
    // From 3.5 on OpenSSL refuses it by itself.
    const isTaken = Number.parseFloat(process.versions.openssl) < 3.5;
    expect(verify(null, Buffer.from("anything"), taken, forged)).toBe(isTaken);

    expect(findEd25519Key(weak)).toBeUndefined();
    expect(findEd25519Key(publicKey())).toBeDefined();
    for (const bytes of [Buffer.alloc(32), Buffer.alloc(31, 7), Buffer.alloc(0)]) {
      expect(findEd25519Key(bytes)).toBeUndefined();
    }
    const signed = Buffer.from(weak);
    signed[31] = 0x80;
    expect(findEd25519Key(signed)).toBeUndefined();
  });

  it("is rejected as a secret of Discord and of Standard Webhooks", () => {
    expect(formOf("discord").findProblem(weak.toString("hex"))).toContain("public key");
    expect(formOf("discord").findProblem(publicKey().toString("hex"))).toBeUndefined();
    expect(formOf("standard-webhooks").findProblem(`whpk_${weak.toString("base64")}`)).toContain("Ed25519");
    expect(formOf("standard-webhooks").findProblem(`whpk_${publicKey().toString("base64")}`)).toBeUndefined();
  });
});

describe("verification with a secret that is none", () => {
  const body = Buffer.from('{"forged":true}');
  const withNothing = (text: string) => createHmac("sha256", "").update(text).update(body).digest();

  it.each(NO_HEX.slice(0, 3))("takes nothing that was signed with nothing: hmac, %j as hex", async (secret) => {
    // What `Buffer.from` alone makes of it signs as nobody does: the control.
    const before = createHmac("sha256", Buffer.from(secret, "hex")).update(body).digest("hex");
    expect(before).toBe(withNothing("").toString("hex"));
    const settings = settingsOf("own", [secret], { header: "X-Signature", secret_encoding: "hex" });
    const request = arrive("own", { at: 0, body, headers: { "x-signature": withNothing("").toString("hex") } });
    expect(() => hmac.verify?.(request, settings)).toThrow("another secret");
  });

  it("takes nothing that was signed with nothing: hmac, !!!! as base64, and Standard Webhooks", async () => {
    expect(Buffer.from("!!!!", "base64")).toHaveLength(0);
    const settings = settingsOf("own", ["!!!!"], { header: "X-Signature", secret_encoding: "base64" });
    const request = arrive("own", { at: 0, body, headers: { "x-signature": withNothing("").toString("hex") } });
    expect(() => hmac.verify?.(request, settings)).toThrow("another secret");

    const headers = { "webhook-id": "m", "webhook-timestamp": "0" };
    const zero = createHmac("sha256", Buffer.alloc(1)).update("m.0.").update(body).digest("base64");
    const standard = arrive("own", { at: 0, body, headers: { ...headers, "webhook-signature": `v1,${zero}` } });
    const weak = settingsOf("own", ["whsec_AA=="]);
    expect(() => standardWebhooks.verify?.(standard, weak)).toThrow("No signature");
  });
});
