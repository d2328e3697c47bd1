import { describe, expect, it } from "vitest";
import { stored, type AcceptedRequest, Barrier } from "../../../src/model/accepted.ts";
import { PosthornError } from "../../../src/model/errors.ts";
import type { Source } from "../../../src/model/source.ts";
import { createProcessRequest, type ProcessRequestOptions } from "../../../src/intake/accept-events.ts";
import type { WebhookRequest } from "../../../src/intake/request.ts";
import type { SourceKind } from "../../../src/sources/source-kind.ts";
import { toRejected } from "../../../src/intake/webhook-log.ts";

const NOON = Date.UTC(2026, 10, 16, 12);
const source = { name: "shop", eventType: "webhook.received", tenantId: "default", pointers: [], settings: {} };
const request = {
  source: source as unknown as Source,
  method: "POST",
  path: "/webhook/shop",
  query: "",
  remoteAddress: "203.0.113.1",
  headers: { "content-type": "application/json" },
  receivedAt: NOON,
  occurredAt: NOON,
  url: "",
  body: Buffer.from("{}"),
  keptAs: undefined,
} satisfies WebhookRequest;
/** Reads two events from each request. */
const TWO: SourceKind = {
  name: "two",
  needsSecret: false,
  events: () => ({ events: ["a", "b"].map((identity) => ({ type: "made", identity })) }),
};
const ONE: SourceKind = { name: "one", needsSecret: false };

const bug = (): never => {
  throw new TypeError("a bug");
};
const later = () => Promise.resolve().then(bug);

type Places = Partial<ProcessRequestOptions>;
const log = { rejected: () => undefined, reject: toRejected, ignored: () => undefined };
const type = { name: "made", enforce: true, versions: new Map(), latest: "1.0" };

/** Where a step of the request may have a bug. */
const PLACES: [place: string, options: Places][] = [
  ["in the check of the body", { bodies: { check: bug } }],
  ["in the check of the body, later", { bodies: { check: later } }],
  ["in a validation", { validations: { check: bug } }],
  ["in a validation, later", { validations: { check: later } }],
  ["in a schema", { schemas: { find: () => type, check: bug } }],
  ["in a schema, later", { schemas: { find: () => type, check: later } }],
  ["in masking", { masking: { mask: bug } }],
  ["in routing", { accept: bug }],
  ["after the commit", { log: { ...log, ignored: bug } }],
];

interface Ends {
  results: AcceptedRequest[];
  /** What the store, which reports the commit in a later turn, has caught. */
  escaped: unknown[];
}

function open(options: Places, ends: Ends) {
  return createProcessRequest({
    accept(event, done) {
      setImmediate(() => {
        try {
          const isKnown = options.log !== undefined;
          done(isKnown ? { kind: "duplicate", eventId: "evt_1" } : stored(event.id, 1, []));
        } catch (error) {
          ends.escaped.push(error);
        }
      });
    },
    clock: { now: () => NOON, wall: () => NOON, setTimer: bug },
    createId: () => "evt_2",
    bodies: { check: () => ({ kind: "json", texts: [] }) },
    schemas: { find: () => undefined, check: (_, event) => event },
    masking: { mask: (event) => event },
    log,
    ...options,
  });
}

const someTurns = async () => {
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
};

describe("an error that nobody expects", () => {
  it.each(PLACES)("%s ends the request, once", async (_, options) => {
    for (const kind of [ONE, TWO]) {
      const ends: Ends = { results: [], escaped: [] };
      const end = (result: AcceptedRequest) => void ends.results.push(result);
      const barrier = new Barrier(end, (error) => end(toRejected(error)));
      open(options, ends)(request, kind, barrier, (result) => barrier.end(result));
      await someTurns();
      const cause = new TypeError("a bug");
      const rejected = { kind: "rejected", stage: "check", error: { code: "internal_error", cause } };
      expect(ends).toMatchObject({ results: [rejected], escaped: [] });
      expect(ends.results).toHaveLength(1);
    }
  });

  it("is a test that can fail: without the barrier the errors escape, and the request has no end", async () => {
    for (const [place, options] of PLACES) {
      const ends: Ends = { results: [], escaped: [] };
      const waits: Promise<unknown>[] = [];
      const unguarded: Pick<Barrier<never>, "run" | "guard"> = {
        run(steps, next) {
          const value = steps();
          if (!(value instanceof Promise)) return next(value);
          waits.push(value.then(next).catch((error: unknown) => ends.escaped.push(error)));
        },
        guard: (step) => step,
      };
      try {
        open(options, ends)(request, ONE, unguarded, (result) => void ends.results.push(result));
      } catch (error) {
        ends.escaped.push(error);
      }
      await someTurns();
      await Promise.all(waits);
      expect([place, ends]).toEqual([place, { results: [], escaped: [new TypeError("a bug")] }]);
    }
  });

  it("in one of several events is told when the others are on disk", async () => {
    const ends: Ends = { results: [], escaped: [] };
    const accepted: string[] = [];
    const full = new PosthornError("store_full", "no room");
    const process = open(
      {
        accept(event, done) {
          accepted.push(event.dedupeKey ?? "");
          if (accepted.length === 1) done({ kind: "rejected", stage: "accept", error: full });
          else setImmediate(() => done(stored(event.id, 1, [])));
        },
      },
      ends,
    );
    const barrier = new Barrier<AcceptedRequest>((result) => ends.results.push(result), bug);
    process(request, TWO, barrier, (result) => barrier.end(result));
    await Promise.resolve();
    expect([accepted, ends.results]).toEqual([["shop\0a", "shop\0b"], []]);
    await someTurns();
    expect(ends.results).toEqual([{ kind: "rejected", stage: "accept", error: full }]);
  });
});
