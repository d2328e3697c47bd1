import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createIdSource } from "../../../src/domain/ids.ts";
import { createSeededRandom } from "../../../src/domain/seeded-random.ts";
import { createBlockFilter, createBlockTest, keyOf, keysOfIdPrefix } from "../../../src/store/sqlite/block-filter.ts";

const filterOf = (keys: readonly string[]) => createBlockFilter(keys, keys.length);

describe("the filter of a block", () => {
  it("never denies what it holds, whatever that is", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ unit: "binary" }), { minLength: 1, maxLength: 200 }), (keys) => {
        const filter = filterOf(keys);
        expect(keys.every((key) => createBlockTest([[key]])(filter))).toBe(true);
      }),
    );
  });

  it.each([3, 100, 3000])("is seldom wrong about what it does not hold, with %i keys", (count) => {
    const filter = filterOf(Array.from({ length: count }, (_, i) => keyOf.orderingKey(`customer-${i}`)));
    const strangers = Array.from({ length: 20_000 }, (_, i) => keyOf.orderingKey(`customer-${count + i}`));
    const wrong = strangers.filter((key) => createBlockTest([[key]])(filter)).length;
    expect(wrong / strangers.length).toBeLessThan(0.003);
    expect(filter.length).toBeLessThanOrEqual(Math.max(16, count * 2));
  });

  it("asks for one of each list", () => {
    const filter = filterOf(["a", "b"]);
    expect(createBlockTest([["a"], ["x", "b"]])(filter)).toBe(true);
    expect(createBlockTest([["a"], ["x"]])(filter)).toBe(false);
    expect(createBlockTest([])(filter)).toBe(true);
  });

  it("files ids by their beginning, which generated ones of about a second share", () => {
    let wall = 1_760_000_000_000;
    const createId = createIdSource({ wall: () => wall }, createSeededRandom(1));
    const [id, next] = [createId("evt"), createId("evt")];
    wall += 60_000;
    const later = createId("evt");
    expect(keyOf.idStart(id)).toBe(keyOf.idStart(next));
    expect(keyOf.idStart(id)).not.toBe(keyOf.idStart(later));
    expect(keysOfIdPrefix(id.slice(0, 20))).toEqual([keyOf.idStart(id)]);
    expect(keysOfIdPrefix("evt_")).toEqual([]);
  });
});
