import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createIdSource } from "../../../src/model/ids.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import {
  createBlockFilters,
  idStart,
  keyOfIdPrefix,
  mayHold,
  SEGMENTS,
  toFilterKey,
  type FilterKey,
} from "../../../src/store/sqlite/event-blocks.ts";

const mayHoldKey = (filters: readonly Uint8Array[], key: FilterKey) => mayHold(filters[key.segment] as Uint8Array, key);
const keyOf = (text: string) => toFilterKey("orderingKey", text);

describe("the filters of a block", () => {
  it("never deny what they hold, whatever that is", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ unit: "binary" }), { minLength: 1, maxLength: 200 }), (texts) => {
        const keys = texts.map(keyOf);
        const filters = createBlockFilters(keys);
        expect(keys.every((key) => mayHoldKey(filters, key))).toBe(true);
      }),
    );
  });

  it("tell what is of another kind apart", () => {
    const filters = createBlockFilters([toFilterKey("source", "shop")]);
    expect(mayHoldKey(filters, toFilterKey("source", "shop"))).toBe(true);
    expect(mayHoldKey(filters, toFilterKey("tenant", "shop"))).toBe(false);
  });

  it.each([3, 100, 3000, 30_000])("are seldom wrong about what they do not hold, with %i keys", (count) => {
    const filters = createBlockFilters(Array.from({ length: count }, (_, i) => keyOf(`customer-${i}`)));
    const strangers = Array.from({ length: 20_000 }, (_, i) => keyOf(`customer-${count + i}`));
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
    expect(idStart(id)).toBe(idStart(next));
    expect(idStart(id)).not.toBe(idStart(later));
    expect(keyOfIdPrefix(id.slice(0, 20))).toEqual(toFilterKey("idStart", idStart(id)));
    expect(keyOfIdPrefix("evt_")).toBeUndefined();
  });
});
