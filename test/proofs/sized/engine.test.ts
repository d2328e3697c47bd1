import { stored } from "../../../src/model/accepted.ts";
import { describe, expect, it } from "vitest";
import { sized } from "../../support/proof-size.ts";
import type { BrokenParts } from "../../support/simulated-gateway.ts";
import { withPort } from "../../support/with-port.ts";
import { describeFailure, describeRun, runSeeds } from "../../simulation/seeds.ts";
import { simulate } from "../../simulation/simulate.ts";

/** One seed again: SIM_SEED=17 npx vitest run test/proofs/sized/engine.test.ts. Others: SIM_FROM=1000. */
const only = process.env["SIM_SEED"];
const FROM = Number(only ?? process.env["SIM_FROM"] ?? 1);
const COUNT = only === undefined ? sized({ short: 12, middle: 1000, long: 5000 }) : 1;
/** A broken part must show within so many worlds. */
const CONTROL_SEEDS = 40;

describe("a simulated gateway", () => {
  it(`keeps its promises in ${COUNT} worlds from seed ${FROM} on`, async () => {
    const run = await runSeeds({ from: FROM, count: COUNT });
    process.stdout.write(`${describeRun(run)}\n`);
    const [failed] = run.failed;
    expect(failed === undefined ? "" : describeFailure(failed)).toBe("");
  });

  it("goes the same way twice", async () => {
    const [once, again] = [await simulate(FROM), await simulate(FROM)];
    expect(again).toEqual(once);
  });

  const controls: Record<string, BrokenParts> = {
    "ignores the order of a key": {
      store: (store) =>
        withPort(store, "events", {
          accept: (event, deliveries, done) =>
            store.events.accept(
              event,
              deliveries.map((delivery) => ({ ...delivery, ordered: false })),
              done,
            ),
        }),
    },
    "forgets what became of attempts": {
      store: (store) =>
        withPort(store, "lanes", {
          settle: (settlement, done) =>
            settlement.eventSeq % 10 === 0
              ? setImmediate(() => done({ applied: true, next: undefined, movedUp: false }))
              : store.lanes.settle(settlement, done),
        }),
    },
    "does not recover after a crash": { skipRecovery: true },
    "takes a known id as a new one": {
      store: (store) =>
        withPort(store, "events", {
          accept: (event, deliveries, done) =>
            store.events.accept({ ...event, dedupeKey: undefined }, deliveries, done),
        }),
    },
    "forgets the lanes whose deliveries wait in the table": {
      scheduler: (scheduler) => ({ ...scheduler, recordPending: () => undefined }),
    },
    "does not wake a lane for its next retry": {
      store: (store) =>
        withPort(store, "lanes", {
          claim: (request, done) => store.lanes.claim(request, (result) => done({ ...result, nextDueAt: undefined })),
        }),
    },
    "acknowledges what it does not keep": {
      store: (store) =>
        withPort(store, "events", {
          accept: (event, deliveries, done) =>
            event.body.length % 20 === 0
              ? setImmediate(() =>
                  done(
                    stored(
                      event.id,
                      1,
                      deliveries.map(() => false),
                    ),
                  ),
                )
              : store.events.accept(event, deliveries, done),
        }),
    },
    "hears nothing of changes, nor of what expired": {
      scheduler: (scheduler) => ({ ...scheduler, refresh: () => undefined }),
    },
  };

  for (const [what, broken] of Object.entries(controls)) {
    it(`is caught when it ${what} (control)`, async () => {
      let caught: readonly string[] = [];
      for (let seed = 1; seed <= CONTROL_SEEDS && caught.length === 0; seed++) {
        caught = (await simulate(seed, broken)).violations;
      }
      expect(caught).not.toEqual([]);
    });
  }
});
