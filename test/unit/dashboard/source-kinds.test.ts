import { describe, expect, it } from "vitest";
import { labelOfKind } from "../../../dashboard/src/pages/sources/presets.ts";
import { createSourceKinds } from "../../../src/sources/kinds.ts";
import { NO_CONNECTIONS } from "../../../src/queues/connections.ts";

const fetchText = () => Promise.reject(new Error("Nothing is fetched here."));
const kinds = [...createSourceKinds({ fetchText, connections: NO_CONNECTIONS }).keys()];

describe("the kinds of sources in the dashboard", () => {
  it("are all named in words", () => {
    expect(kinds.length).toBeGreaterThan(20);
    expect(kinds.filter((kind) => labelOfKind(kind) === kind)).toEqual([]);
  });

  it("are shown by their own names where a plugin brings one without a label", () => {
    expect(labelOfKind("carrier-pigeon")).toBe("carrier-pigeon");
  });
});
