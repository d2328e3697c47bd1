import { describe, expect, it } from "vitest";
import {
  checkFallback,
  checkNoEvents,
  checkUsedFallback,
  type FallbackFacts,
  type OwnFacts,
} from "../../../src/domain/fallback-rules.ts";

const isQueue = (kind: string) => kind === "queue";
const HOME: FallbackFacts = { name: "home", kind: "queue", events: [] };
const FORWARD: OwnFacts = {
  name: "n8n",
  kind: "http",
  events: ["#"],
  mode: "forward",
  fallback: "home",
  isChecked: true,
};

describe("a fallback", () => {
  it("is a queue without events of its own, for one forward that has a health check", () => {
    expect(checkFallback(FORWARD, [HOME], isQueue)).toEqual([]);
    expect(checkFallback({ ...FORWARD, fallback: null }, [], isQueue)).toEqual([]);
    expect(checkFallback({ ...FORWARD, ordered: true }, [{ ...HOME, ordered: true }], isQueue)).toEqual([]);
  });

  it.each<[string, Partial<OwnFacts>, FallbackFacts[]]>([
    ["mode: forward", { mode: "queue" }, [HOME]],
    ["health", { isChecked: false }, [HOME]],
    ["there is no subscription", {}, []],
    ["of the kind http", {}, [{ ...HOME, kind: "http" }]],
    ["events of its own", {}, [{ ...HOME, events: ["order.*"] }]],
    ['the fallback of "other"', {}, [HOME, { name: "other", kind: "http", events: ["#"], fallback: "home" }]],
    ["ordered", { ordered: true }, [HOME]],
  ])("is refused with the reason: %s", (reason, change, others) => {
    const problems = checkFallback({ ...FORWARD, ...change }, others, isQueue);
    expect(problems).toEqual([{ field: "fallback", message: expect.stringContaining(reason) }]);
  });

  it("keeps what the forward needs of it", () => {
    expect(checkUsedFallback(HOME, FORWARD)).toEqual([]);
    expect(checkUsedFallback({ ...HOME, events: ["#"] }, FORWARD)[0]?.field).toBe("events");
    expect(checkUsedFallback(HOME, { ...FORWARD, ordered: true })[0]?.field).toBe("ordered");
  });
});

describe("a subscription without events", () => {
  it("is a queue, and chooses among nothing", () => {
    expect(checkNoEvents(HOME, isQueue)).toEqual([]);
    expect(checkNoEvents({ ...HOME, kind: "http" }, isQueue)[0]?.field).toBe("events");
    expect(checkNoEvents({ ...HOME, sources: ["shop"] }, isQueue)[0]?.field).toBe("sources");
    expect(checkNoEvents({ ...HOME, event_filter: {} }, isQueue)[0]?.field).toBe("event_filter");
    expect(checkNoEvents({ ...HOME, kind: "http", events: ["#"], sources: ["shop"] }, isQueue)).toEqual([]);
  });
});
