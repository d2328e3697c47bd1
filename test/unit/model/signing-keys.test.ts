import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PosthornError } from "../../../src/model/errors.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { createSecret, createSigner, verifyPlain, verifyStandard, publicKeyOf } from "../../../src/model/signature.ts";
import {
  applyKeyInput,
  confirmRotation,
  endOverlap,
  formatSigningKeys,
  parseSigningKeys,
  retireReplaced,
  startRotation,
  toEngineKeys,
  type SigningKeys,
} from "../../../src/model/signing-keys.ts";
import { acceptsEd25519 } from "../../support/official-verifiers.ts";

const random = createSeededRandom(5);
const NOW = 1_700_000_000_000;
const make = (input = {}, isDeclared = false) => applyKeyInput(undefined, input, { random, now: NOW, isDeclared });
const rotation = (secret: string) => ({ secret, overlapMs: 1000, force: false });
const states = (keys: SigningKeys) => keys.secrets.map(({ state }) => state);

describe("signing keys", () => {
  it("come back from their text as they were, whatever was done to them", () => {
    const steps = fc.array(fc.constantFrom("rotate", "force", "confirm", "retire", "pass", "pair"), { maxLength: 12 });
    fc.assert(
      fc.property(steps, (names) => {
        let now = NOW;
        let keys = make();
        for (const name of names) {
          now += 400;
          keys = step(keys, name, now);
          expect(parseSigningKeys(formatSigningKeys(keys))).toEqual(keys);
          // The promises that hold at every moment of any rotation:
          expect(keys.secrets.length).toBeGreaterThan(0);
          expect(keys.secrets.length).toBeLessThan(3);
          expect(states(keys).filter((state) => state === "current")).toHaveLength(1);
          expect(states(keys)[0]).toBe("current");
          const lasting = keys.secrets.filter(({ expiresAt }) => expiresAt === undefined);
          expect(lasting).toHaveLength(1);
        }
      }),
    );
  });

  it("never leave a receiver without a secret that verifies, if it follows within the overlap", () => {
    const steps = fc.array(fc.constantFrom("rotate", "confirm", "pass"), { maxLength: 12 });
    const body = Buffer.from("{}");
    fc.assert(
      fc.property(steps, fc.integer({ min: 0, max: 900 }), (names, lagMs) => {
        let now = NOW;
        let keys = make();
        let receivers = keys.secrets[0]?.secret ?? "";
        let learned = { secret: receivers, at: now };
        for (const name of names) {
          now += 300;
          const before = keys;
          keys = step(endOverlap(keys, now), name, now);
          const latest = keys.secrets.find(({ expiresAt }) => expiresAt === undefined)?.secret ?? "";
          if (keys !== before && latest !== learned.secret) learned = { secret: latest, at: now };
          if (now >= learned.at + lagMs) receivers = learned.secret;
          const { secrets, nextSecret } = toEngineKeys(keys);
          const timestampS = Math.floor(now / 1000);
          const { standard } = createSigner(secrets, { nextSecret }).sign("evt_1", timestampS, body);
          const headers = { id: "evt_1", timestamp: String(timestampS), signature: standard };
          expect(verifyStandard(headers, body, [receivers], now)).toBe(true);
        }
      }),
    );
  });

  it("keep the plain header with the old secret until the owner confirms or the overlap ends", () => {
    const body = Buffer.from("body");
    const [old, next] = [createSecret(random), createSecret(random)];
    const keys = startRotation(make({ secret: old }), rotation(next), NOW);
    const sign = (live: SigningKeys) => {
      const { secrets, ...more } = toEngineKeys(live);
      return createSigner(secrets, more).sign("evt_1", 1, body);
    };
    const during = sign(keys);
    expect([verifyPlain(body, during.plain, old), verifyPlain(body, during.next, next)]).toEqual([true, true]);
    expect(during.standard.split(" ")).toHaveLength(2);
    for (const ended of [confirmRotation(keys), endOverlap(keys, NOW + 1000), retireReplaced(keys)]) {
      const signed = sign(ended);
      expect(verifyPlain(body, signed.plain, next)).toBe(true);
      expect(signed.next).toBeUndefined();
    }
    expect(endOverlap(keys, NOW + 999)).toBe(keys);
    expect(sign(confirmRotation(keys)).standard.split(" ")).toHaveLength(2);
    expect(sign(retireReplaced(keys)).standard.split(" ")).toHaveLength(1);
  });

  it("reject a second rotation, a known secret, and to end what was not begun", () => {
    const keys = make();
    const begun = startRotation(keys, rotation(createSecret(random)), NOW);
    const code = (run: () => unknown) => {
      try {
        run();
        return "none";
      } catch (error) {
        return (error as PosthornError).code;
      }
    };
    expect(code(() => startRotation(begun, rotation(createSecret(random)), NOW))).toBe("conflict");
    expect(code(() => startRotation(keys, rotation(keys.secrets[0]?.secret ?? ""), NOW))).toBe("invalid_field");
    expect(code(() => confirmRotation(keys))).toBe("conflict");
    expect(code(() => confirmRotation(confirmRotation(begun)))).toBe("conflict");
    expect(code(() => retireReplaced(keys))).toBe("conflict");
  });

  it("that the configuration declares change when the file does, and not at every start", () => {
    const [first, second] = [createSecret(random), createSecret(random)];
    const apply = (keys: SigningKeys, secret: string | undefined) =>
      applyKeyInput(keys, { secret }, { random, now: NOW, isDeclared: true });
    const declared = make({ secret: first }, true);
    const rotated = retireReplaced(startRotation(declared, rotation(createSecret(random)), NOW));
    expect(apply(rotated, first)).toBe(rotated);
    expect(toEngineKeys(apply(rotated, second)).secrets).toEqual([second]);
    const left = apply(rotated, undefined);
    expect([left.secrets, left.declared]).toEqual([rotated.secrets, undefined]);
    expect(formatSigningKeys(declared).split(first)).toHaveLength(2);
  });
});

describe("a key pair", () => {
  it("signs so that the public key alone verifies any body, and nothing else does", () => {
    const { ed25519 } = make({ ed25519: true });
    const privateKey = ed25519?.privateKey ?? "";
    expect(privateKey).toMatch(/^whsk_[A-Za-z0-9+/]{86}==$/);
    const signer = createSigner([createSecret(random)], { ed25519Key: privateKey });
    const publicKey = publicKeyOf(privateKey);
    const another = publicKeyOf(make({ ed25519: true }).ed25519?.privateKey ?? "");
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), fc.nat(), (bytes, timestampS) => {
        const body = Buffer.from(bytes);
        const { standard } = signer.sign("evt_1", timestampS, body);
        expect(standard).toMatch(/^v1,\S{44} v1a,\S{88}$/);
        const headers = {
          "webhook-id": "evt_1",
          "webhook-timestamp": String(timestampS),
          "webhook-signature": standard,
        };
        expect(acceptsEd25519(publicKey, { headers, body })).toBe(true);
        expect(acceptsEd25519(another, { headers, body })).toBe(false);
        expect(acceptsEd25519(publicKey, { headers: { ...headers, "webhook-id": "evt_2" }, body })).toBe(false);
      }),
    );
  });

  it("derives the public key that RFC 8032 gives for its first example", () => {
    const seed = Buffer.from("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", "hex");
    const expected = Buffer.from("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "hex");
    const fixed = { next: () => 0, bytes: () => new Uint8Array(seed) };
    const keys = applyKeyInput(
      undefined,
      { secret: createSecret(random), ed25519: true },
      { random: fixed, now: 0, isDeclared: false },
    );
    const privateKey = keys.ed25519?.privateKey ?? "";
    expect(publicKeyOf(privateKey)).toBe(`whpk_${expected.toString("base64")}`);
    expect(privateKey).toBe(`whsk_${Buffer.concat([seed, expected]).toString("base64")}`);
  });
});

/** What cannot be done in this state is left undone. */
function step(keys: SigningKeys, name: string, now: number): SigningKeys {
  try {
    switch (name) {
      case "rotate":
        return startRotation(keys, rotation(createSecret(random)), now);
      case "force":
        return startRotation(keys, { ...rotation(createSecret(random)), force: true }, now);
      case "confirm":
        return confirmRotation(keys);
      case "retire":
        return retireReplaced(keys);
      case "pair":
        return applyKeyInput(keys, { ed25519: keys.ed25519 === undefined }, { random, now, isDeclared: false });
      default:
        return endOverlap(keys, now);
    }
  } catch (error) {
    if (error instanceof PosthornError && error.code === "conflict") return keys;
    throw error;
  }
}
