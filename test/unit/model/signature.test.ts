import { createHmac } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  createHmacKey,
  createSecret,
  createSigner,
  decodeSecret,
  verifyPlain,
  verifyStandard,
} from "../../../src/model/signature.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { officialsAccept } from "../../support/official-verifiers.ts";

const secret = createSecret(createSeededRandom(1));
const otherSecret = createSecret(createSeededRandom(2));
const wallMs = 1_700_000_000_000;
const timestampS = wallMs / 1000;
const anyText = fc.string({ unit: fc.constantFrom("a", "Z", ".", "\u0000", "é", "語", "😀") });
const bodies = fc.uint8Array({ maxLength: 3000, size: "+1" });

function flipBit(bytes: Uint8Array, bit: number): Uint8Array {
  const flipped = Uint8Array.from(bytes);
  const at = (bit >> 3) % flipped.length;
  flipped[at] = (flipped[at] ?? 0) ^ (1 << (bit & 7));
  return flipped;
}

describe("the HMAC key", () => {
  it("agrees with Node's own HMAC for keys, texts and bodies of any length", () => {
    const sizes = fc.oneof(
      bodies,
      fc.constantFrom(65_470, 65_536, 70_000).map((length) => new Uint8Array(length)),
    );
    const keys = fc.uint8Array({ maxLength: 150, size: "max" });
    fc.assert(
      fc.property(keys, anyText, sizes, (key, text, body) => {
        for (const encoding of ["hex", "base64"] as const) {
          const expected = createHmac("sha256", key).update(text).update(body).digest(encoding);
          expect(createHmacKey(key).digest(text, body, encoding)).toBe(expected);
        }
      }),
    );
  });
});

describe("secrets", () => {
  it("are whsec_ and 32 random bytes", () => {
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(decodeSecret(secret)).toHaveLength(32);
    expect(secret).not.toBe(otherSecret);
  });

  it("decode to the bytes they were made of, with padding or without", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 24, maxLength: 64 }), (bytes) => {
        const text = `whsec_${Buffer.from(bytes).toString("base64")}`;
        expect(decodeSecret(text)).toEqual(Buffer.from(bytes));
        expect(decodeSecret(text.replace(/=+$/, ""))).toEqual(Buffer.from(bytes));
      }),
    );
  });

  it.each([
    "",
    "whsec_",
    `whsec_${"!".repeat(44)}`,
    `whsec_${"A".repeat(43)}-`,
    `${secret}\n`,
    `${secret.slice(0, -1)}==`,
    `whsec_${"A".repeat(33)}`,
    `whsec_${Buffer.alloc(23).toString("base64")}`,
    `whsec_${Buffer.alloc(65).toString("base64")}`,
    `whsec_${"A".repeat(100_000)}`,
    "fifteen letters",
    "x".repeat(129),
    "a tab\tin the middle",
    "a line\nand another",
    "half of a pair \ud83d",
    "no \u200bwidth at all",
    `whsk_${"A".repeat(88)}`,
    `whpk_${"A".repeat(44)}`,
  ])("are rejected when malformed, without being repeated in the message (case %#)", (text) => {
    expect(() => decodeSecret(text)).toThrow(expect.objectContaining({ code: "invalid_field", field: "secret" }));
    expect(() => decodeSecret(text)).toThrow(
      /^(A secret is whsec_ followed by base64, or a text of 16 to 128 printable characters|After whsec_ there must be the base64 of 24 to 64 bytes|whsk_… and whpk_… are ed25519 keys and cannot be used as a secret)\.$/,
    );
  });

  it("may be any text of 16 to 128 printable characters, whose UTF-8 bytes are the key", () => {
    for (const text of [
      "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
      "Drmhze6EPcv0fN_81Bj-nAx7KXJv3c2Wj0S1d8Zk9QU",
      secret.slice(6),
      `WHSEC_${secret.slice(6)}`,
      "sixteen letters!",
      "ключ партнёра 😀😀😀",
      "é".repeat(128),
    ]) {
      expect([text, decodeSecret(text)]).toEqual([text, Buffer.from(text, "utf8")]);
    }
  });
});

describe("a signer", () => {
  it("gives the example of Standard Webhooks its known signature", () => {
    const signer = createSigner(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]);
    const body = Buffer.from('{"test": 2432232314}');
    expect(signer.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body).standard).toBe(
      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    );
  });

  // shows: C36
  it("keys the plain header with the secret as it is shown", () => {
    const body = Buffer.from("hello");
    const expected = createHmac("sha256", secret).update(body).digest("hex");
    expect(createSigner([secret]).sign("evt_1", timestampS, body).plain).toBe(`sha256=${expected}`);
  });

  it("signs with every live secret, and the plain header with the first", () => {
    const body = Buffer.from("hello");
    const both = createSigner([secret, otherSecret]).sign("evt_1", timestampS, body);
    const first = createSigner([secret]).sign("evt_1", timestampS, body);
    const second = createSigner([otherSecret]).sign("evt_1", timestampS, body);
    expect(both).toEqual({ plain: first.plain, standard: `${first.standard} ${second.standard}` });
  });

  it("cannot be made without a secret or with a bad one", () => {
    expect(() => createSigner([])).toThrow(/at least one secret/);
    expect(() => createSigner([secret, "whsec_short"])).toThrow(/there must be the base64/);
  });
});

describe("verifying", () => {
  it("accepts what was signed and rejects it with any bit of the body flipped", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 500 }), fc.nat(), (body, bit) => {
        const { plain, standard } = createSigner([secret]).sign("evt_1", timestampS, body);
        const headers = { id: "evt_1", timestamp: String(timestampS), signature: standard };
        expect(verifyPlain(body, plain, secret)).toBe(true);
        expect(verifyStandard(headers, body, [secret], wallMs)).toBe(true);
        const flipped = flipBit(body, bit);
        expect(verifyPlain(flipped, plain, secret)).toBe(false);
        expect(verifyStandard(headers, flipped, [secret], wallMs)).toBe(false);
      }),
    );
  });

  it("rejects a signature, an id, a time or a secret that is not the one", () => {
    const body = Buffer.from("hello");
    const { plain, standard } = createSigner([secret]).sign("evt_1", timestampS, body);
    const headers = { id: "evt_1", timestamp: String(timestampS), signature: standard };
    fc.assert(
      fc.property(fc.nat(), (bit) => {
        const badPlain = Buffer.from(flipBit(Buffer.from(plain), bit)).toString("latin1");
        const signature = Buffer.from(flipBit(Buffer.from(standard), bit)).toString("latin1");
        expect(verifyPlain(body, badPlain, secret)).toBe(false);
        expect(verifyStandard({ ...headers, signature }, body, [secret], wallMs)).toBe(false);
      }),
    );
    expect(verifyPlain(body, plain, otherSecret)).toBe(false);
    expect(verifyStandard({ ...headers, id: "evt_2" }, body, [secret], wallMs)).toBe(false);
    expect(verifyStandard({ ...headers, timestamp: String(timestampS + 1) }, body, [secret], wallMs)).toBe(false);
    expect(verifyStandard(headers, body, [otherSecret], wallMs)).toBe(false);
    expect(verifyStandard(headers, body, [], wallMs)).toBe(false);
  });

  // shows: C41
  it("follows the rules of the plain header: the prefix may be missing, another algorithm is rejected, hex is lower case", () => {
    const body = Buffer.from("hello");
    const { plain } = createSigner([secret]).sign("evt_1", timestampS, body);
    const hex = plain.slice("sha256=".length);
    const sha1 = createHmac("sha1", secret).update(body).digest("hex");
    expect(verifyPlain(body, hex, secret)).toBe(true);
    expect(verifyPlain(body, `sha1=${sha1}`, secret, "sha1")).toBe(true);
    const bad = [
      undefined,
      "",
      "=",
      "sha256=",
      hex.slice(1),
      `${plain}0`,
      `sha1=${hex}`,
      `sha1=${sha1}`,
      "é".repeat(64),
    ];
    for (const header of [...bad, hex.toUpperCase(), `=${hex}`]) expect(verifyPlain(body, header, secret)).toBe(false);
  });

  it("takes any of several signatures by any of several secrets, and no other version", () => {
    const body = Buffer.from("hello");
    const { standard } = createSigner([secret]).sign("evt_1", timestampS, body);
    const check = (signature: string, secrets: string[]) =>
      verifyStandard({ id: "evt_1", timestamp: String(timestampS), signature }, body, secrets, wallMs);
    expect(check(`v1,AAAA v1a,xyz ${standard}`, [otherSecret, secret])).toBe(true);
    expect(check(standard.replace("v1,", "v2,"), [secret])).toBe(false);
    expect(check(standard.replace("v1,", ""), [secret])).toBe(false);
  });

  it("agrees with the official libraries about secrets, times, ids and bodies", () => {
    vi.useFakeTimers({ toFake: ["Date"], now: wallMs });
    onTestFinished(() => void vi.useRealTimers());
    const offsets = fc.oneof(fc.integer({ min: -310, max: 310 }), fc.constantFrom(-301, -300, 300, 301));
    const choices = fc.record({
      signedWith: fc.shuffledSubarray([secret, otherSecret], { minLength: 1 }),
      verifiedWith: fc.constantFrom(secret, otherSecret),
      offsetS: offsets,
      isChanged: fc.boolean(),
      body: fc.json().map((text) => Buffer.from(text)),
    });
    fc.assert(
      fc.property(choices, ({ signedWith, verifiedWith, offsetS, isChanged, body }) => {
        const timestamp = timestampS + offsetS;
        const { standard } = createSigner(signedWith).sign("evt_1", timestamp, body);
        const id = isChanged ? "evt_2" : "evt_1";
        const headers = { id, timestamp: String(timestamp), signature: standard };
        const received = { "webhook-id": id, "webhook-timestamp": String(timestamp), "webhook-signature": standard };
        const isAccepted = officialsAccept(verifiedWith, { headers: received, body });
        expect(verifyStandard(headers, body, [verifiedWith], wallMs)).toBe(isAccepted);
        expect(isAccepted).toBe(signedWith.includes(verifiedWith) && Math.abs(offsetS) <= 300 && !isChanged);
      }),
    );
  });

  // shows: C52
  it("takes a time within five minutes either way and nothing that is not a time", () => {
    const body = Buffer.from("hello");
    const check = (timestamp: string | undefined, id: string | undefined = "evt_1") => {
      const signature = createSigner([secret]).sign(id ?? "", Number(timestamp), body).standard;
      return verifyStandard({ id, timestamp, signature }, body, [secret], wallMs);
    };
    expect([check(`${timestampS - 300}`), check(`${timestampS + 300}`)]).toEqual([true, true]);
    expect([check(`${timestampS - 301}`), check(`${timestampS + 301}`)]).toEqual([false, false]);
    for (const timestamp of [undefined, "", "-1", "1.7e9", " 1700000000", "NaN"]) expect(check(timestamp)).toBe(false);
    expect(check(`${timestampS}`, "")).toBe(false);
    expect(check(`${timestampS}`, "evt.1")).toBe(false);
  });
});
