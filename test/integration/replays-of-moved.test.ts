import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { KindWithSender } from "../../src/destinations/senders.ts";
import type { PartMakers } from "../../src/gateway/start.ts";
import { until } from "../support/api-client.ts";
import { openJournalSender } from "../support/journal/sender.ts";
import { JOURNAL } from "../support/journal/settings.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { startTestGateway } from "../support/test-gateway.ts";
import { withPort } from "../support/with-port.ts";

/** A fallback without a broker: a file that nobody can count. */
const QUEUE = {
  ...JOURNAL,
  open: openJournalSender,
  name: "file-queue",
  queue: { isCountable: () => true, maxBytesOf: () => undefined },
} as unknown as KindWithSender;

/** Nobody finds the other delivery of an event. */
const FORGETFUL: PartMakers = {
  openStore: (open) => async (url, options) =>
    withPort(await open(url, options), "reads", { findDelivery: () => Promise.resolve(undefined) }),
};

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** One event that was forwarded in vain and went to the queue, and one that went straight there. */
async function openWorld(makers: PartMakers = {}) {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-moved-"));
  closing.push(() => rm(folder, { recursive: true }));
  const target = await openSinkServer();
  closing.push(() => target.close());
  const far = { status: 500, health: 200 };
  target.answerWith(({ method }) =>
    method === "GET" ? { status: far.health, body: '{"status":"ok"}' } : { status: far.status },
  );
  const path = join(folder, "queue");
  const forward = {
    name: "n8n",
    url: `${target.url}/hook`,
    mode: "forward",
    events: ["webhook.*"],
    health_url: `${target.url}/healthz`,
    health_interval_s: 0.1,
    successes_to_close: 1,
    drain_within_s: 0,
    retry_policy: "short",
    fallback: "home-queue",
  };
  const queue = { name: "home-queue", kind: "file-queue", events: [], destination: { path } };
  const gateway = await startTestGateway({ destinationKinds: [QUEUE], makers });
  closing.push(() => gateway.close());
  const { id: queueId } = (await gateway.post("/api/v1/subscriptions", queue)).json as { id: string };
  const { id: forwardId } = (await gateway.post("/api/v1/subscriptions", forward)).json as { id: string };
  const reaches = (mode: string) =>
    until(async () => (await gateway.get("/api/v1/targets/n8n")).json["mode"] === mode, undefined, mode);

  const moved = String((await gateway.webhook("orders", '{"n":1}')).json["event_id"]);
  far.health = 503;
  await reaches("QUEUE");
  const straight = String((await gateway.webhook("orders", '{"n":2}')).json["event_id"]);
  await until(async () => (await gateway.deliveries("status=delivered")).length === 2);
  far.health = far.status = 200;
  await reaches("NORMAL");
  const before = target.requests.length;

  return {
    gateway,
    queueId,
    forwardId,
    moved,
    straight,
    posts: () =>
      target.requests
        .slice(before)
        .filter(({ method }) => method === "POST")
        .map(({ body }) => body.toString()),
    queued: () =>
      readFileSync(path, "utf8")
        .trim()
        .split("\n")
        .map((line) => line.replace(/ .*/, "")),
    async replay(kind: string, filter: object) {
      const { json } = await gateway.post("/api/v1/replays", { kind, filter });
      const path = `/api/v1/replays/${String(json["id"])}`;
      await until(async () => (await gateway.get(path)).json["status"] === "completed");
      await gateway.settled();
      return (await gateway.get(path)).json["done"];
    },
    setForward: (change: object) =>
      gateway.request("PATCH", `/api/v1/subscriptions/${forwardId}`, {
        body: JSON.stringify(change),
        headers: { "content-type": "application/json" },
      }),
  };
}

const ALL = { event_type: "webhook.orders" };

describe("a replay of events that went to a fallback", () => {
  it("sends each once: by the forward where that had it, else to the queue", async () => {
    const { gateway, moved, straight, posts, queued, replay } = await openWorld();
    expect((await gateway.event(moved)).deliveries).toHaveLength(2);
    expect(queued()).toEqual([moved, straight]);
    expect(await replay("events", ALL)).toBe(2);
    expect([posts(), queued()]).toEqual([['{"n":1}'], [moved, straight, straight]]);
  });

  it("would send it twice if the other delivery were not looked for (control)", async () => {
    const { moved, straight, posts, queued, replay } = await openWorld(FORGETFUL);
    expect(await replay("events", ALL)).toBe(3);
    expect([posts(), queued().toSorted()]).toEqual([['{"n":1}'], [moved, moved, straight, straight].toSorted()]);
  });

  it("sends each once also when the forward has no fallback any more: to where it went", async () => {
    const { gateway, moved, straight, posts, queued, replay, setForward } = await openWorld();
    expect((await setForward({ fallback: null })).status).toBe(200);
    expect(await replay("events", ALL)).toBe(2);
    expect([posts(), queued()]).toEqual([[], [moved, straight, moved, straight]]);
    expect((await gateway.post(`/api/v1/events/${moved}/replay`, {})).status).toBeLessThan(300);
    await gateway.settled();
    expect([posts(), queued().length]).toEqual([[], 5]);
  });

  it("goes to the subscription that is named, and only there", async () => {
    const { moved, straight, posts, queued, replay, queueId, forwardId } = await openWorld();
    expect(await replay("events", { ...ALL, subscription_id: queueId })).toBe(2);
    expect([posts(), queued()]).toEqual([[], [moved, straight, moved, straight]]);
    expect(await replay("events", { ...ALL, subscription_id: forwardId })).toBe(2);
    expect([posts().toSorted(), queued().length]).toEqual([['{"n":1}', '{"n":2}'], 4]);
  });

  it("recovers nothing for the forward that the queue has got", async () => {
    const { posts, queued, replay, forwardId } = await openWorld();
    const since = "2020-01-01T00:00:00Z";
    expect(await replay("recover", { subscription_id: forwardId, since, include: "all" })).toBe(0);
    expect([posts(), queued().length]).toEqual([[], 2]);
  });
});
