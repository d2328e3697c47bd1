import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createIdSource } from "../../../src/domain/ids.ts";
import { createSeededRandom } from "../../../src/domain/seeded-random.ts";
import {
  createBlockFilters,
  toFilterKey,
  keyOf,
  keysOfIdPrefix,
  mayHold,
  SEGMENTS,
} from "../../../src/store/sqlite/block-filter.ts";

function mayHoldKey(filters: readonly Uint8Array[], key: string): boolean {
  const hashed = toFilterKey(key);
  return mayHold(filters[hashed.segment] as Uint8Array, hashed);
}

describe("the filters of a block", () => {
  it("never deny what they hold, whatever that is", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ unit: "binary" }), { minLength: 1, maxLength: 200 }), (keys) => {
        const filters = createBlockFilters(keys);
        expect(keys.every((key) => mayHoldKey(filters, key))).toBe(true);
      }),
    );
  });

  it.each([3, 100, 3000, 30_000])("are seldom wrong about what they do not hold, with %i keys", (count) => {
    const filters = createBlockFilters(Array.from({ length: count }, (_, i) => keyOf.orderingKey(`customer-${i}`)));
    const strangers = Array.from({ length: 20_000 }, (_, i) => keyOf.orderingKey(`customer-${count + i}`));
    const wrong = strangers.filter((key) => mayHoldKey(filters, key)).length;
    expect(wrong / strangers.length).toBeLessThan(0.003);
    const bytes = filters.reduce((sum, filter) => sum + filter.length, 0);
    expect(bytes).toBeLessThanOrEqual(count * 2 + SEGMENTS * 16);
    // None has much more to hold than the others.
    expect(Math.max(...filters.map(({ length }) => length))).toBeLessThan(16 + (bytes / SEGMENTS) * 1.5);
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
