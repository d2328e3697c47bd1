import { describe, expect, it, onTestFinished } from "vitest";
import { stored as storedAs, type Accepted } from "../../../src/model/accepted.ts";
import { PosthornError } from "../../../src/model/errors.ts";
import { createIdSource } from "../../../src/model/ids.ts";
import { createSystemClock, createSystemRandom } from "../../../src/model/clock.ts";
import type { Source } from "../../../src/model/source.ts";
import { toSource } from "../../../src/resources/sources/source-record.ts";
import { createBodyChecker } from "../../../src/sandbox/text/body-check.ts";
import { GENERIC } from "../../../src/sources/generic.ts";
import type { PushedSourceKind } from "../../../src/sources/source-kind.ts";
import { createProcessRequest } from "../../../src/intake/accept-events.ts";
import { type WebhookResult, createWebhookReceiver } from "../../../src/intake/webhook.ts";
import { createMasking } from "../../../src/accept/masking.ts";
import type { WebhookRequest } from "../../../src/intake/request.ts";
import type { ValidationChecker } from "../../../src/sandbox/checks/validation-check.ts";
import { createWebhookLog } from "../../../src/intake/webhook-log.ts";
import { notAccepted, type IncomingEvent } from "../../../src/accept/fan-out.ts";
import type { LoggedRequest } from "../../../src/store/port/event-log.ts";
import { SAMPLE_KIND } from "../../support/sample-kind.ts";

const NOON = Date.UTC(2026, 10, 16, 12);
/** Splits as the sample kind does, and verifies nothing. */
const LIST: PushedSourceKind = { ...SAMPLE_KIND, name: "list", verify: () => undefined };

type Accept = (event: IncomingEvent, index: number) => Accepted;

function openReceiver(accept: Accept, validations?: Pick<ValidationChecker, "check">) {
  const accepted: IncomingEvent[] = [];
  const logged: LoggedRequest[] = [];
  const forNobody: string[] = [];
  const kinds = new Map([GENERIC, LIST].map((kind) => [kind.name, kind]));
  const clock = createSystemClock({ startAt: NOON });
  const bodies = createBodyChecker({ maxDepth: 64 });
  onTestFinished(bodies.close);
  const createId = createIdSource(clock, createSystemRandom());
  const log = createWebhookLog({ logRequest: (request) => logged.push(request) > 0, createId });
  const processRequest = createProcessRequest({
    masking: createMasking(),
    log,
    accept(event, done, to) {
      accepted.push(event);
      if (to !== undefined) forNobody.push(event.id);
      done(accept(event, accepted.length - 1));
    },
    clock,
    createId,
    bodies,
    schemas: { find: () => undefined, check: (_, event) => event },
    validations,
  });
  const receiver = createWebhookReceiver({
    findSource: () => undefined,
    kinds,
    processRequest,
    findTrouble: () => undefined,
    clock,
    log,
  });
  const receive = (source: Source, body: unknown) =>
    new Promise<WebhookResult>((resolve) => {
      const request = toRequest(source, body);
      receiver.receive(request, request.body, resolve);
    });
  return { receive, accepted, logged, forNobody };
}

function sourceOf(kind: PushedSourceKind): Source {
  const shown = { name: "shop", kind: kind.name };
  const state = { shown, auth: undefined, options: {}, pathToken: undefined, secrets: [], declaredSecrets: undefined };
  return toSource(state, kind, { maxBytes: 1000, declared: true });
}

function toRequest(source: Source, body: unknown): WebhookRequest {
  return {
    source,
    method: "POST",
    path: "/webhook/shop",
    query: "",
    remoteAddress: "203.0.113.1",
    headers: { "content-type": "application/json" },
    receivedAt: NOON,
    occurredAt: NOON,
    url: "",
    body: Buffer.from(JSON.stringify(body)),
    keptAs: undefined,
  };
}

const stored: Accept = (event) => storedAs(event.id, 1, [true]);
const list = (length: number) => ({ list: Array.from({ length }, (_, id) => ({ id, event: "made" })) });

describe("a request with several events", () => {
  it("is our own fault when one of them could not be kept, and nothing is logged against its sender", async () => {
    const error = new PosthornError("store_full", "no room", { retryAfterS: 5 });
    const { receive, accepted, logged } = openReceiver((event, index) =>
      index === 1 ? notAccepted(error) : stored(event, index),
    );
    expect(await receive(sourceOf(LIST), list(3))).toEqual({ kind: "rejected", stage: "accept", error });
    expect(accepted).toHaveLength(3);
    expect(logged).toEqual([]);
  });

  it("makes them in their order, each known by its own identity", async () => {
    const { receive, accepted } = openReceiver(stored);
    await receive(sourceOf(LIST), list(3));
    expect(accepted.map(({ dedupeKey }) => dedupeKey)).toEqual([0, 1, 2].map((id) => `shop\0${id}`));
    expect(accepted.map(({ body }) => Buffer.from(body).toString())).toEqual(
      list(3).list.map((item) => JSON.stringify(item)),
    );
  });

  it("lets others have their turn when there are ten thousand", async () => {
    const { receive, accepted } = openReceiver(stored);
    let turns = 0;
    const count = () => {
      turns++;
      if (accepted.length < 10_000) setImmediate(count);
    };
    setImmediate(count);
    const result = await receive(sourceOf(LIST), list(10_000));
    expect(result).toMatchObject({ kind: "answered", outcome: "accepted", answer: { status: 200 } });
    expect(accepted).toHaveLength(10_000);
    expect(turns).toBeGreaterThan(40);
  });

  it("leaves out one that cannot be kept as it is, and takes the others in", async () => {
    const { receive, accepted, logged } = openReceiver(stored);
    const source = { ...sourceOf(LIST), idFrom: { in: "header", name: "x-id" } } as const;
    const body = {
      list: [
        { id: 1, event: "not a type" },
        { id: 2, event: "made" },
      ],
    };
    expect(await receive(source, body)).toMatchObject({ outcome: "accepted" });
    expect(accepted.map(({ type }) => type)).toEqual(["sample.made"]);
    expect(logged).toEqual([]);
  });
});

describe("a request that its endpoint's validation objects to", () => {
  const error = new PosthornError("schema_mismatch", "it lacks a total", { details: { errors: [{ path: "/total" }] } });
  const VALIDATIONS: [string, Pick<ValidationChecker, "check">][] = [
    ["at once", { check: () => throwIt(error) }],
    ["later", { check: () => Promise.reject(error) }],
  ];

  it.each(VALIDATIONS)("is rejected %s where its sender can be told", async (_, validations) => {
    const { receive, accepted, logged } = openReceiver(stored, validations);
    const refused = await receive(sourceOf(GENERIC), {});
    expect(refused).toEqual({ kind: "rejected", stage: "check", error, requestId: logged[0]?.id });
    expect([accepted.length, logged.map(({ cause }) => cause)]).toEqual([0, ["schema_mismatch"]]);
  });

  it.each(VALIDATIONS)("is kept %s for nobody where its sender would give it up, all of it", async (_, validations) => {
    const { receive, accepted, logged, forNobody } = openReceiver(stored, validations);
    const result = await receive(sourceOf(LIST), list(2));
    expect(result).toMatchObject({ kind: "ignored", cause: "invalid" });
    expect(accepted.map(({ id }) => id)).toEqual(forNobody);
    expect(forNobody).toHaveLength(2);
    expect(accepted[0]).toMatchObject({ details: '{"schema_result":{"valid":false,"errors":[{"path":"/total"}]}}' });
    expect(logged).toMatchObject([{ outcome: "ignored", cause: "invalid", eventId: forNobody[0] }]);
  });

  it("is our own trouble when it could not be compared", async () => {
    const busy = new PosthornError("overloaded", "too much", { retryAfterS: 1 });
    const { receive, accepted, logged } = openReceiver(stored, {
      check: () => Promise.reject(busy),
    });
    expect(await receive(sourceOf(LIST), list(2))).toEqual({ kind: "rejected", stage: "check", error: busy });
    expect([accepted, logged]).toEqual([[], []]);
  });
});

function throwIt(error: Error): never {
  throw error;
}

describe("a request of a generic source", () => {
  it("is answered in the turn in which its event is kept", () => {
    const { receive, accepted } = openReceiver(stored);
    const result = receive(sourceOf(GENERIC), { a: 1 });
    // Nothing was put off to a later turn: the event is there when `receive` has returned.
    expect(accepted).toHaveLength(1);
    return expect(result).resolves.toMatchObject({ kind: "stored" });
  });

  it("whose kind is not known any more is our own trouble", async () => {
    const { receive, logged } = openReceiver(stored);
    const source = { ...sourceOf(GENERIC), kind: "from-the-future" };
    expect(await receive(source, {})).toMatchObject({ kind: "rejected", error: { code: "unavailable" } });
    expect(logged).toEqual([]);
  });
});
