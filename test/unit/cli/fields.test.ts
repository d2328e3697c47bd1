import { describe, expect, it } from "vitest";
import { ago, because, bytes, rate, toCells, toFacts, wholeOf, type Field } from "../../../src/cli/resources/fields.ts";

const MOMENT = { wallMs: Date.UTC(2000, 0, 3), isAbsolute: false };

const FIELDS: readonly Field[] = [
  ["THING", "id"],
  ["STATUS", "status hold_reason dead_reason", because],
  ["OPEN", "stats.open"],
  ["SUCCESS", "stats.rate", rate],
  ["SIZE", "size", bytes],
  ["SINCE", "since", ago],
];

describe("what is shown of a resource", () => {
  it("is a row of a table, with a dash for what is not there", () => {
    const rows = [
      { id: "a", status: "dead", hold_reason: null, dead_reason: "gone", stats: { open: 0, rate: 0.5 }, size: 2048 },
      { id: "b", status: "pending", hold_reason: null, dead_reason: null, stats: null, since: null },
    ];
    expect(rows.map((row) => toCells(FIELDS, row, MOMENT))).toEqual([
      ["a", "dead (gone)", "0", "50%", "2.0 KiB", "-"],
      ["b", "pending", "-", "-", "-", "-"],
    ]);
  });

  it("is all that was answered, in its order, and named by hand where that says more", () => {
    const row = {
      id: "a",
      tenant_id: "acme",
      status: "dead",
      dead_reason: "gone",
      hold_reason: null,
      max_age_s: 60,
      max_bytes: 1024,
      enforce: false,
      events: ["x", "y"],
      created_at: "2000-01-01T00:00:00.000Z",
      labels: {},
      nothing: null,
      payload: "long",
    };
    const facts = toFacts(wholeOf(row, FIELDS.slice(0, 2), ["payload"]), row, MOMENT);
    expect(facts.filter(([, value]) => value !== undefined)).toEqual([
      ["THING", "a"],
      ["tenant", "acme"],
      ["STATUS", "dead (gone)"],
      ["max age", "1 min"],
      ["max bytes", "1.0 KiB"],
      ["enforce", "no"],
      ["events", "x, y"],
      ["created", "2000-01-01T00:00:00.000Z (2d ago)"],
    ]);
  });

  it("has times by their distance, or as they are", () => {
    const row = { since: "2000-01-02T23:00:00.000Z" };
    const columns: readonly Field[] = [["SINCE", "since", ago]];
    expect(toCells(columns, row, MOMENT)).toEqual(["1h ago"]);
    expect(toCells(columns, row, { ...MOMENT, isAbsolute: true })).toEqual(["2000-01-02T23:00:00.000Z"]);
  });
});
