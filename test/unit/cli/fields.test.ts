import { describe, expect, it } from "vitest";
import { ago, because, bytes, rate, toFacts, toTable, wholeOf, type Field } from "../../../src/cli/resources/fields.ts";

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
    expect(toTable(FIELDS, rows).split("\n")).toEqual([
      "THING  STATUS       OPEN  SUCCESS  SIZE     SINCE",
      "a      dead (gone)  0     50%      2.0 KiB  -",
      "b      pending      -     -        -        -",
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
    const facts = toFacts(wholeOf(row, FIELDS.slice(0, 2), ["payload"]), row);
    expect(facts.replaceAll(/\(\d+d ago\)/g, "(ago)").split("\n")).toEqual([
      "THING      a",
      "tenant     acme",
      "STATUS     dead (gone)",
      "max age    60 s",
      "max bytes  1.0 KiB",
      "enforce    no",
      "events     x, y",
      "created    2000-01-01T00:00:00.000Z (ago)",
    ]);
  });

  it("cannot move the cursor", () => {
    expect(toTable([["NAME", "name"]], [{ name: "\u001b[2J" }])).not.toContain("\u001b");
  });
});
