import { describe, expect, it } from "vitest";
import { PosthornError } from "../../../src/model/errors.ts";
import { stored, type Accepted } from "../../../src/model/accepted.ts";
import { notAccepted } from "../../../src/accept/fan-out.ts";
import { createIngest, type Meter } from "../../../src/accept/ingest.ts";
import { newDelivery, newEvent } from "../../support/store-fixtures.ts";

const STORED = stored("a", 1, [true, false]);
const FULL = new PosthornError("store_full", "no room");
const OVER = new PosthornError("quota_exceeded", "too much");

/** What the stage tells those around it, in order. */
function open(options: { result?: Accepted; meter?: Meter; fault?: Error } = {}) {
  const told: string[] = [];
  const work = { unwrittenEvents: 0 };
  const answer = (how: string, done: (result: Accepted) => void) => {
    told.push(`${how}, ${work.unwrittenEvents} unwritten`);
    if (options.fault !== undefined) throw options.fault;
    done(options.result ?? STORED);
  };
  const ingest = createIngest({
    fanOut: {
      accept: (_, done) => answer("routed", done),
      acceptFor: (_, subscriptions, done) => answer(`for ${subscriptions.length}`, done),
      plan: (event) => ({ event, deliveries: [newDelivery(1)], done: ({ kind }) => told.push(`planned ${kind}`) }),
    },
    quotas: { find: () => options.meter },
    governor: { recordAccepted: () => told.push("governor") },
    work,
    metrics: { countEvent: (kind) => told.push(`counted ${kind}`) },
    statistics: { recordEvent: () => undefined },
    disk: { recordFull: () => told.push("disk full") },
  });
  const done = ({ kind }: Accepted) => told.push(`done ${kind}, ${work.unwrittenEvents} unwritten`);
  return { ingest, told, done };
}

function meterOf(rejection: PosthornError | undefined, told: string[]): Meter {
  return {
    begin() {
      told.push("metered");
      return rejection;
    },
    end: (_, stored) => told.push(`ended ${stored?.deliveries}`),
  };
}

describe("the stage that every event passes", () => {
  it("counts an event until it is written, and tells who must know", () => {
    const { ingest, told, done } = open();
    ingest.accept(newEvent(), done);
    expect(told).toEqual(["governor", "routed, 1 unwritten", "counted stored", "done stored, 0 unwritten"]);
  });

  it("freezes the event: nobody changes it from here on", () => {
    const { ingest, done } = open();
    const event = newEvent();
    ingest.accept(event, done);
    expect(Object.isFrozen(event)).toBe(true);
    expect(() => (event.type = "another")).toThrow(TypeError);
  });

  it("takes one for some alone", () => {
    const { ingest, told, done } = open();
    ingest.accept(newEvent(), done, []);
    expect(told).toContain("for 0, 1 unwritten");
  });

  it("tells the watch of the disk when there is no room, and of no other failure", () => {
    const full = open({ result: notAccepted(FULL) });
    full.ingest.accept(newEvent(), full.done);
    expect(full.told.slice(-3)).toEqual(["counted failed", "disk full", "done rejected, 0 unwritten"]);
    const other = open({ result: notAccepted(new PosthornError("unavailable", "busy")) });
    other.ingest.accept(newEvent(), other.done);
    expect(other.told).not.toContain("disk full");
  });

  it("asks the tenant's meter first, and gives back what was not stored", () => {
    const told: string[] = [];
    const stored = open({ meter: meterOf(undefined, told) });
    stored.ingest.accept(newEvent(), stored.done);
    const failed = open({ meter: meterOf(undefined, told), result: notAccepted(FULL) });
    failed.ingest.accept(newEvent(), failed.done);
    expect(told).toEqual(["metered", "ended 2", "metered", "ended undefined"]);
  });

  it("reports an event whose routing throws as failed, once, and counts it no longer", () => {
    const metered: string[] = [];
    const { ingest, told } = open({ meter: meterOf(undefined, metered), fault: new TypeError("a bug") });
    const results: Accepted[] = [];
    ingest.accept(newEvent(), (result) => results.push(result));
    ingest.accept(newEvent(), (result) => results.push(result), []);
    const failed = {
      kind: "rejected",
      stage: "accept",
      error: { code: "internal_error", cause: new TypeError("a bug") },
    };
    expect(results).toMatchObject([failed, failed]);
    expect([metered, told]).toEqual([
      ["metered", "ended undefined", "metered", "ended undefined"],
      ["governor", "routed, 1 unwritten", "counted failed", "governor", "for 0, 1 unwritten", "counted failed"],
    ]);
  });

  it("goes no further with what the meter rejects, and takes the gateway's own events past it", () => {
    const asked: string[] = [];
    const { ingest, told, done } = open({ meter: meterOf(OVER, asked) });
    ingest.accept(newEvent(), done);
    expect([asked, told]).toEqual([["metered"], ["done rejected, 0 unwritten"]]);
    ingest.acceptOwn(newEvent(), done);
    expect([asked, told.at(-1)]).toEqual([["metered"], "done stored, 0 unwritten"]);
  });

  it("plans what is written with something else, and counts it when that is done", () => {
    const { ingest, told } = open();
    const event = newEvent();
    const plan = ingest.plan(event);
    expect([plan.event, plan.deliveries, told]).toEqual([event, [newDelivery(1)], []]);
    plan.done(stored("a", 1, [false]));
    expect(told).toEqual(["counted stored", "planned stored"]);
  });
});
