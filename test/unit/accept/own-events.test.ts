import { describe, expect, it } from "vitest";
import { PosthornError } from "../../../src/model/errors.ts";
import { matchesPattern, parsePattern } from "../../../src/model/pattern.ts";
import { createOwnEvents, type OwnEvent } from "../../../src/accept/ingest.ts";
import type { Draft } from "../../../src/resources/draft.ts";
import { stored as storedAs, type Accepted } from "../../../src/model/accepted.ts";
import { notAccepted, type IncomingEvent } from "../../../src/accept/fan-out.ts";
import { NOON } from "../../support/store-fixtures.ts";
import { createVirtualClock, createVirtualTime } from "../../support/virtual-clock.ts";

function open(answer: (event: IncomingEvent) => Accepted) {
  const accepted: IncomingEvent[] = [];
  const faults: unknown[] = [];
  const planned: IncomingEvent[] = [];
  const told: string[] = [];
  const ownEvents = createOwnEvents({
    ingest: {
      acceptOwn(event, done) {
        accepted.push(event);
        queueMicrotask(() => done(answer(event)));
      },
      plan(event) {
        planned.push(event);
        return { event, deliveries: [], done: ({ kind }) => told.push(kind) };
      },
    },
    clock: createVirtualClock(createVirtualTime(NOON)),
    createId: () => `evt_${accepted.length}`,
    onFault: (error) => faults.push(error),
  });
  return { accepted, faults, planned, told, ownEvents };
}

const stored = ({ id }: IncomingEvent): Accepted => storedAs(id, 1, [true]);
const event: OwnEvent = { type: "webhook.suspended", tenantId: "acme", data: { webhook_id: "sub_1" } };

describe("an event of the gateway itself", () => {
  it("is an event of the tenant it concerns, accepted before the call returns", async () => {
    const { accepted, ownEvents } = open(stored);
    const published = ownEvents.publishOwn(event);
    expect(accepted).toMatchObject([{ type: "webhook.suspended", tenantId: "acme", source: "posthorn", dueAt: NOON }]);
    expect(Buffer.from(accepted[0]?.body ?? []).toString()).toBe('{"webhook_id":"sub_1"}');
    await published;
  });

  it("is put into the draft of the change that it tells of, with its deliveries", () => {
    const { planned, told, accepted, ownEvents } = open(stored);
    const drafted: unknown[][] = [];
    const accept: Draft["accept"] = (drawn, deliveries, done) => {
      drafted.push([drawn, deliveries]);
      done(storedAs("evt_1", 1, []));
    };
    ownEvents.publishWith({ accept } as Draft, event);
    expect(drafted).toEqual([[planned[0], []]]);
    expect([planned[0]?.type, told, accepted]).toEqual(["webhook.suspended", ["stored"], []]);
  });

  it("is not published when it would tell of a failure to deliver another one", async () => {
    const { accepted, ownEvents } = open(stored);
    await ownEvents.publishOwn({ ...event, causedBy: "webhook.suspended" });
    await ownEvents.publishOwn({ ...event, causedBy: "test.event" });
    expect(accepted).toEqual([]);
    await ownEvents.publishOwn({ ...event, causedBy: "order.created" });
    expect(accepted).toHaveLength(1);
  });

  it("that cannot be stored is a fault that is told, and fails nobody", async () => {
    const { faults, ownEvents } = open(() => notAccepted(new PosthornError("store_full", "full")));
    await ownEvents.publishOwn(event);
    expect(faults).toMatchObject([{ code: "store_full" }]);
  });

  it("is matched by patterns that name it, and by none that means everything", () => {
    const matching = ["*", "#", "*.*", "#.suspended", "webhook.*", "webhook.#", "webhook.suspended"].filter((pattern) =>
      matchesPattern(parsePattern(pattern), event.type),
    );
    expect(matching).toEqual(["webhook.*", "webhook.#", "webhook.suspended"]);
  });
});
