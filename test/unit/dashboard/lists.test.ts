import { describe, expect, it } from "vitest";
import type { Subscription } from "../../../dashboard/src/api/types.ts";
import { changesOf, rebase, type Draft } from "../../../dashboard/src/forms/draft.ts";
import { itemsOf, membersOf } from "../../../dashboard/src/json/member-text.ts";
import { confirmationOf, selectionOf } from "../../../dashboard/src/pages/bulk/selection.ts";
import { toInputText, versionTextsOf } from "../../../dashboard/src/pages/event-types/event-type-text.ts";
import { findUsers } from "../../../dashboard/src/pages/sources/source-users.ts";
import { curlCommand } from "../../../dashboard/src/ui/curl-command.ts";
import { hasText } from "../../../dashboard/src/ui/text-search.ts";

/** No number of JavaScript is this one. */
const LARGE = "12345678901234567890";

describe("an event type as text", () => {
  const answer = `{"name":"order.created","description":null,"enforce":true,"versions":[
    {"version":"1.0","schema":{"maximum":${LARGE}},"example":null,"created_at":"2026-01-01T00:00:00Z"},
    {"version":"2.0","schema":{},"example":{"n":${LARGE},"f":1.10},"created_at":"2026-01-01T00:00:00Z"}
  ],"managed_by":"api","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}`;

  it("keeps every number as it is written, and leaves out what cannot be sent back", () => {
    const text = toInputText(answer);
    expect(text).toContain(`"maximum": ${LARGE}`);
    expect(text).toContain(`"n": ${LARGE}`);
    expect(text).toContain('"f": 1.10');
    expect(JSON.parse(text)).toEqual({
      name: "order.created",
      enforce: true,
      versions: [
        { version: "1.0", schema: { maximum: Number(LARGE) } },
        { version: "2.0", schema: {}, example: { n: Number(LARGE), f: 1.1 } },
      ],
    });
    // What parsing and writing would make of it, which is how they were edited before.
    expect(JSON.stringify(JSON.parse(answer))).not.toContain(LARGE);
  });

  it("is shown by version", () => {
    expect(versionTextsOf(answer)).toEqual([
      { version: "1.0", schema: `{\n  "maximum": ${LARGE}\n}`, example: undefined },
      { version: "2.0", schema: "{}", example: `{\n  "n": ${LARGE},\n  "f": 1.10\n}` },
    ]);
    expect(versionTextsOf('{"name":"bare"}')).toEqual([]);
  });

  it("is taken apart without regard to spaces and nesting", () => {
    expect([...membersOf(' { "a" : [1, {"b": "}"}] ,"c":{} } ')]).toEqual([
      ["a", '[1, {"b": "}"}]'],
      ["c", "{}"],
    ]);
    expect([...itemsOf(' [ 1.0 , "]" , [2,3] ] ')]).toEqual(["1.0", '"]"', "[2,3]"]);
    expect([[...itemsOf("[]")], [...itemsOf("{}")], [...membersOf("[]")]]).toEqual([[], [], []]);
  });
});

describe("what was changed here, on top of what somebody else saved", () => {
  const field = (name: string) => ({
    name,
    schema: {},
    shape: { kind: "json" } as const,
    isRequired: false,
    isNullable: true,
  });
  const fields = ["name", "timeout", "rate"].map(field);
  const before: Draft = { name: "ERP", timeout: 10, rate: 5 };

  it("keeps theirs where it was not touched here, and what was emptied here empty", () => {
    const mine: Draft = { name: "ERP, mine", timeout: 10 };
    const theirs: Draft = { name: "ERP, theirs", timeout: 30, rate: 5 };
    const merged = rebase(changesOf(before, mine, fields), mine, theirs);
    expect(merged).toEqual({ name: "ERP, mine", timeout: 30 });
    expect(changesOf(theirs, merged, fields)).toEqual({ name: "ERP, mine", rate: null });
    // Sending the whole form, as it was done for sources, takes their change back.
    expect(changesOf(theirs, mine, fields)).toHaveProperty("timeout", 10);
  });
});

describe("what a list shows", () => {
  it("is found in any case, and in any of its texts", () => {
    expect(hasText(["Acme", null, undefined], "aCM")).toBe(true);
    expect(hasText(["Acme", "acme-2"], " 2 ")).toBe(true);
    expect(hasText(["Acme"], "b")).toBe(false);
    expect(hasText(["Acme"], undefined)).toBe(true);
  });

  it("is asked for in a terminal by one command, whatever stands in it", () => {
    expect(curlCommand("http://here/api/v1/audit")).toBe(
      'curl http://here/api/v1/audit -H "authorization: Bearer $POSTHORN_API_KEY"',
    );
    expect(curlCommand("http://here/v?a=1&b=2", { it: "isn't" }, "PUT")).toBe(
      `curl -X PUT 'http://here/v?a=1&b=2' -H "authorization: Bearer $POSTHORN_API_KEY" ` +
        String.raw`-H 'content-type: application/json' -d '{"it":"isn'\''t"}'`,
    );
    expect(curlCommand("http://here/e", `{"n":${LARGE}}`)).toContain(`'{"n":${LARGE}}'`);
  });
});

describe("an action on many", () => {
  it("names a filter, or says that all are meant", () => {
    expect(selectionOf({ reason: "refused", since: undefined, event_type: "" })).toEqual({
      filter: { reason: "refused" },
    });
    expect(selectionOf({ reason: undefined })).toEqual({ all: true });
  });

  it("confirms a purge by its number, or by the word where nobody knows it", () => {
    expect(confirmationOf({ count: 12, exact: true })).toEqual({ confirm: 12 });
    expect(confirmationOf({ count: 12, exact: false })).toEqual({ confirm: "purge" });
    expect(confirmationOf(undefined)).toEqual({ confirm: "purge" });
  });
});

describe("what uses a source", () => {
  it("are the subscriptions that name it, by a pattern too", () => {
    const of = (name: string, sources: string[] | null) => ({ name, sources }) as Subscription;
    const all = [of("exact", ["shop"]), of("pattern", ["crm", "*"]), of("other", ["crm"]), of("any", null)];
    expect(findUsers("shop", all).map(({ name }) => name)).toEqual(["exact", "pattern"]);
  });
});
