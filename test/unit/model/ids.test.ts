import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createIdSource, formatDeliveryId, isGeneratedId, parseDeliveryId, stableId } from "../../../src/model/ids.ts";
import type { Random } from "../../../src/model/clock.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";

const anyText = fc.string({ unit: fc.constantFrom("a", "Z", ".", " ", "\u0000", "é", "語", "😀") });
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/** The UUID inside an id, by the definition of TypeID and without the source's own arithmetic. */
function uuidOf(id: string) {
  let bits = 0n;
  for (const character of id.slice(id.indexOf("_") + 1)) bits = bits * 32n + BigInt(ALPHABET.indexOf(character));
  expect(bits < 1n << 128n).toBe(true);
  return {
    hex: bits.toString(16).padStart(32, "0"),
    timeMs: Number(bits >> 80n),
    version: Number((bits >> 76n) & 15n),
    variant: Number((bits >> 62n) & 3n),
  };
}

function constantRandom(value: number): Random {
  return { next: () => 0, bytes: (length) => new Uint8Array(length).fill(value) };
}

describe("generated ids", () => {
  it("are TypeIDs of UUIDv7 that hold the time", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 48 - 1 }), fc.integer(), (wallMs, seed) => {
        const id = createIdSource({ wall: () => wallMs }, createSeededRandom(seed))("evt");
        expect(id).toMatch(/^evt_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
        expect(uuidOf(id)).toMatchObject({ timeMs: wallMs, version: 7, variant: 2 });
        expect(isGeneratedId(id, "evt")).toBe(true);
      }),
    );
  });

  it("only ever increase, inside a millisecond and when the clock goes back", () => {
    const steps = fc.array(
      fc.integer({ min: -5000, max: 5000 }).map((step) => (step % 3 === 0 ? step : 0)),
      {
        minLength: 1,
        maxLength: 200,
      },
    );
    fc.assert(
      fc.property(steps, fc.integer(), (wallSteps, seed) => {
        let wallMs = 1_700_000_000_000;
        const nextId = createIdSource({ wall: () => wallMs }, createSeededRandom(seed));
        let last = "";
        for (const step of wallSteps) {
          wallMs += step;
          const id = nextId("req");
          expect(id > last).toBe(true);
          last = id;
        }
      }),
    );
  });

  it("differ and increase over many random blocks and carries of the counter", () => {
    const nextId = createIdSource({ wall: () => 1_700_000_000_000 }, constantRandom(0xff));
    const ids = Array.from({ length: 100_000 }, () => nextId("evt"));
    expect(ids.filter((id, at) => !isGeneratedId(id, "evt") || id <= (ids[at - 1] ?? ""))).toEqual([]);
    expect(uuidOf(ids.at(-1) ?? "").timeMs).toBe(1_700_000_000_000);
  });

  it("share one order over all prefixes", () => {
    const nextId = createIdSource({ wall: () => 5 }, createSeededRandom(1));
    expect(nextId("sub").slice(4) < nextId("key").slice(4)).toBe(true);
  });

  it("do not repeat between two processes with the same clock", () => {
    const sources = [1, 2].map((seed) => createIdSource({ wall: () => 5 }, createSeededRandom(seed)));
    const ids = sources.flatMap((nextId) => Array.from({ length: 1000 }, () => nextId("evt")));
    expect(new Set(ids).size).toBe(2000);
  });

  it("end in 40 bits of chance, every one of them used", () => {
    const tails = [0x00, 0xff].map((value) =>
      createIdSource({ wall: () => 5 }, constantRandom(value))("evt").slice(-8),
    );
    expect(tails).toEqual(["00000000", "zzzzzzzz"]);
  });

  it("are told from other texts", () => {
    const good = createIdSource({ wall: Date.now }, createSeededRandom(7))("evt");
    const others = ["", "evt_", good.toUpperCase(), `${good}0`, good.slice(0, -1), good.replace("_", "-")];
    const otherBits = [`evt_8${good.slice(5)}`, `${good.slice(0, 14)}g${good.slice(15)}`, `${good.slice(0, 29)}u`];
    const all = [...others, ...otherBits, stableId("evt", "orders")];
    expect(all.filter((text) => isGeneratedId(text, "evt"))).toEqual([]);
    expect(isGeneratedId(good, "sub")).toBe(false);
  });
});

describe("ids made from names", () => {
  it("hold the SHA-256 of the name as a UUIDv8 and never change", () => {
    expect(stableId("sub", "orders")).toBe(stableId("sub", "orders"));
    const { hex, version, variant } = uuidOf(stableId("sub", "abc"));
    expect({ version, variant }).toEqual({ version: 8, variant: 2 });
    expect(hex).toBe("ba7816bf8f018fea814140de5dae2223");
  });

  it("differ for different names and may hold any text", () => {
    fc.assert(
      fc.property(anyText, anyText, (one, other) => {
        fc.pre(one !== other);
        expect(stableId("sub", one)).not.toBe(stableId("sub", other));
        expect(stableId("sub", one)).toMatch(/^sub_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
      }),
    );
  });
});

describe("delivery ids", () => {
  const seq = fc.oneof(fc.nat(), fc.maxSafeNat());

  it("give back the numbers they were made from", () => {
    fc.assert(
      fc.property(seq, seq, (eventSeq, subscriptionSeq) => {
        const id = formatDeliveryId(eventSeq, subscriptionSeq);
        expect(id).toMatch(/^dlv_[a-z0-9]+$/);
        expect(parseDeliveryId(id)).toEqual({ eventSeq, subscriptionSeq });
      }),
    );
  });

  it("are accepted in their one form only", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...Array.from("0123abz_-. A")), maxLength: 26 }), (tail) => {
        const parsed = parseDeliveryId(`dlv_${tail}`);
        const again = parsed && formatDeliveryId(parsed.eventSeq, parsed.subscriptionSeq);
        expect([undefined, `dlv_${tail}`]).toContain(again);
      }),
    );
    const bad = ["", "dlv_", "dlv_1", "dlv_11", "dlv_2011", "dlv_1101", "dlv_1A1", "evt_111", "dlv_bzzzzzzzzzzz1"];
    const more = ["dlv_01", "dlv_11-1", "dlv_11 1", "dlv_11.5", `dlv_11${"9".repeat(30)}`];
    expect([...bad, ...more].filter((text) => parseDeliveryId(text) !== undefined)).toEqual([]);
  });

  it("are not made for numbers that no row has", () => {
    for (const wrong of [-1, 1.5, Number.NaN, 2 ** 53]) {
      expect(() => formatDeliveryId(wrong, 1)).toThrow(/No delivery/);
      expect(() => formatDeliveryId(1, wrong)).toThrow(/No delivery/);
    }
  });
});
