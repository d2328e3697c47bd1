import { expect } from "vitest";
import { until } from "../../support/api-client.ts";
import { openSinkServer } from "../../support/sink-server.ts";
import type { PulledCheck } from "./checks.ts";
import { PATIENCE_MS, turns, withPullingGateway, type PullingOptions } from "./gateway.ts";

const JSON_TYPE = { "content-type": "application/json" };
const DELIVERED: PullingOptions = { source: { acknowledge: "delivered" } };

/** A destination that answers when it is told to. */
function createGate(): { opened: Promise<void>; open: () => void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

/** `acknowledge: delivered`. */
export const DELIVERED_CHECKS: readonly PulledCheck[] = [
  // shows: B44, Q17
  {
    name: "where it is asked to, keeps a message in its queue until every delivery of its event has ended",
    run: (harness) =>
      withPullingGateway(harness, DELIVERED, async ({ place, gateway, sink }) => {
        const gate = createGate();
        const slow = await openSinkServer({ answer: { status: 200, after: gate.opened } });
        try {
          await gateway.subscribe({ name: "slow", url: slow.url });
          await place.send("{}", { id: "a", headers: JSON_TYPE });
          await Promise.all([sink.received(1), slow.received(1)]);
          await until(async () => (await gateway.deliveries("status=delivered")).length === 1);
          await turns();
          expect(await place.countLeft()).toBe(1);
          gate.open();
          await until(async () => (await place.countLeft()) === 0);
          expect(await gateway.deliveries("status=delivered")).toHaveLength(2);
        } finally {
          await slow.close();
        }
      }),
  },
  // shows: Q25
  {
    name: "parks a message when a delivery of its event is dead, and acknowledges it when it was cancelled",
    run: (harness) =>
      withPullingGateway(harness, DELIVERED, async ({ place, gateway, sink }) => {
        sink.answerWith({ status: 400 });
        await place.send('"dead"', { id: "a", headers: JSON_TYPE });
        await until(async () => (await place.countLeft()) === 0);
        expect(await place.listParked()).toMatchObject([{ reason: { code: "dead" } }]);
        sink.answerWith({ status: 503 });
        await place.send('"cancelled"', { id: "b", headers: JSON_TYPE });
        await until(async () => (await gateway.deliveries("status=pending")).length === 1);
        const [delivery] = await gateway.deliveries("status=pending");
        await gateway.post(`/api/v1/deliveries/${delivery?.id}/cancel`);
        await until(async () => {
          gateway.moveClock(1000);
          return (await place.countLeft()) === 0;
        });
        expect(await place.listParked()).toHaveLength(1);
      }),
  },
  // shows: Q24
  {
    name: "goes on with the event of a message that comes again, and delivers it once",
    run: (harness) =>
      withPullingGateway(harness, DELIVERED, async ({ place, gateway, sink, accepts, listEvents }) => {
        const gate = createGate();
        sink.answerWith({ status: 200, after: gate.opened });
        await place.send("{}", { id: "a", headers: JSON_TYPE });
        await sink.received(1);
        await place.loseTakers();
        await until(() => accepts.calls >= 2);
        gate.open();
        await until(async () => {
          gateway.moveClock(1000);
          return (await place.countLeft()) === 0;
        });
        expect([sink.requests.length, (await listEvents()).length, await place.listParked()]).toEqual([1, 1, []]);
      }),
  },
  // shows: Q25
  {
    name: "acknowledges a message that comes again after its event was delivered, also after a restart",
    run: (harness) =>
      withPullingGateway(harness, { ...DELIVERED, mode: "lost after" }, async (pulling) => {
        const { place, gateway, sink, accepts, restart } = pulling;
        await place.send("{}", { id: "a", headers: JSON_TYPE });
        await until(() => accepts.calls === 1);
        accepts.mode = "good";
        await restart();
        await until(async () => (await place.countLeft()) === 0);
        await gateway.settled();
        expect([sink.requests.length, await place.listParked()]).toEqual([1, []]);
      }),
  },
  // shows: Q27
  {
    name: "parks a message whose event died while nobody held it, and once only",
    run: (harness) =>
      withPullingGateway(harness, DELIVERED, async ({ place, gateway, sink }) => {
        sink.answerWith({ status: 503 });
        await place.send('"dead"', { id: "a", headers: JSON_TYPE });
        await until(() => sink.requests.length === 1);
        await gateway.post("/api/v1/sources/queue/pause", {});
        await until(async () => (await place.countHeld()) === 0);
        await until(async () => {
          gateway.moveClock(1000);
          return (await gateway.deliveries("status=dead")).length === 1;
        });
        expect(await place.listParked()).toEqual([]);
        await gateway.post("/api/v1/sources/queue/resume", {});
        await until(async () => {
          gateway.moveClock(1000);
          return (await place.countLeft()) === 0;
        });
        expect(await place.listParked()).toMatchObject([{ reason: { code: "dead" } }]);
        expect(sink.requests).toHaveLength(3);
      }),
  },
  // shows: Q28
  {
    name: "delivers what was parked and put back into its queue, and does nothing twice that was not",
    run: (harness) =>
      withPullingGateway(harness, DELIVERED, async ({ place, gateway, sink, listEvents }) => {
        sink.answerWith({ status: 400 });
        await place.send('"dead"', { id: "a", headers: JSON_TYPE });
        await until(async () => (await place.countLeft()) === 0);
        expect(await place.listParked()).toHaveLength(1);
        sink.answerWith({ status: 200 });
        await place.send('"dead"', { id: "a", headers: JSON_TYPE });
        await until(async () => (await place.countLeft()) === 0);
        expect((await gateway.deliveries("status=delivered")).length).toBe(1);
        await place.send('"dead"', { id: "a", headers: JSON_TYPE });
        await until(async () => (await place.countLeft()) === 0);
        expect([sink.requests.length, (await listEvents()).length, (await place.listParked()).length]).toEqual([
          2, 1, 1,
        ]);
      }),
  },
  // shows: B8, Q19
  {
    name: "renews what it holds, however long that takes",
    appliesTo: ({ canRenew }) => canRenew,
    run: (harness) =>
      withPullingGateway(harness, DELIVERED, async ({ place, gateway, sink, accepts }) => {
        const { holdMs } = place.limits;
        sink.answerWith({ status: 503 });
        await gateway.request("PATCH", `/api/v1/subscriptions/${await idOf(gateway)}`, {
          body: JSON.stringify({ status: "inactive" }),
          headers: JSON_TYPE,
        });
        await place.send("{}", { id: "a", headers: JSON_TYPE });
        await until(() => accepts.calls === 1);
        for (let passed = 0; passed < 5 * holdMs; passed += holdMs / 8) {
          gateway.moveClock(holdMs / 8);
          await turns();
          expect(await place.countHeld()).toBe(1);
        }
        expect(accepts.calls).toBe(1);
        sink.answerWith({ status: 200 });
        await gateway.post(`/api/v1/subscriptions/${await idOf(gateway)}/resume`);
        await until(async () => {
          gateway.moveClock(holdMs / 8);
          await turns();
          return (await place.countLeft()) === 0;
        });
      }),
  },
  // shows: Q20
  {
    name: "gives back what it cannot hold any longer, and goes on with it when it comes again",
    appliesTo: ({ canRenew }) => !canRenew,
    run: (harness) =>
      withPullingGateway(
        harness,
        { source: { acknowledge: "delivered", hold_max_s: 10 } },
        async ({ place, gateway, sink, accepts, listEvents }) => {
          const gate = createGate();
          sink.answerWith({ status: 200, after: gate.opened });
          await place.send("{}", { id: "a", headers: JSON_TYPE });
          await sink.received(1);
          gateway.moveClock(11_000);
          await expect.poll(() => accepts.calls, { timeout: harness.patienceMs ?? PATIENCE_MS }).toBe(2);
          gate.open();
          await until(async () => {
            gateway.moveClock(1000);
            return (await place.countLeft()) === 0;
          });
          expect([sink.requests.length, (await listEvents()).length]).toEqual([1, 1]);
        },
      ),
  },
  // shows: Q20, Q33
  {
    name: "takes no more than one while its target is in QUEUE",
    run: (harness) =>
      withPullingGateway(
        harness,
        { source: { acknowledge: "delivered", target: "all" } },
        async ({ place, gateway, sink, restart, stop }) => {
          sink.answerWith({ status: 503 });
          const inQueue = async () => (await gateway.get("/status")).json["mode"] === "QUEUE";
          for (let n = 0; !(await inQueue()); n++) {
            await place.send("{}", { id: `first-${n}`, headers: JSON_TYPE });
            gateway.moveClock(2000);
            await turns();
          }
          // Before the restart, so that whoever takes too many finds them all there.
          for (let n = 0; n < 5; n++) await place.send("{}", { id: `late-${n}`, headers: JSON_TYPE });
          await restart();
          // One message probes the target, which has no health URL; also not for a moment are there more.
          let most = 0;
          const look = async () => {
            gateway.moveClock(1000);
            most = Math.max(most, await place.countHeld());
            return most > 0;
          };
          await until(look);
          for (let again = 0; again < 5; again++) {
            await turns();
            await look();
          }
          expect(await inQueue()).toBe(true);
          expect(most).toBe(1);
          await stop();
        },
      ),
  },
  {
    name: "gives back at a stop what has not ended, and acknowledges what ended while it stopped",
    run: (harness) =>
      withPullingGateway(harness, DELIVERED, async ({ place, gateway, sink, restart, stop }) => {
        const gate = createGate();
        sink.answerWith(({ body }) =>
          body.toString() === "1" ? { status: 200, after: gate.opened } : { status: 503 },
        );
        await place.send("1", { id: "one", headers: JSON_TYPE });
        await place.send("2", { id: "two", headers: JSON_TYPE });
        await sink.received(2);
        const count = async () => [await place.countLeft(), await place.countHeld()];
        await stop(async () => {
          gate.open();
          await expect.poll(count, { timeout: harness.patienceMs ?? PATIENCE_MS }).toEqual([1, 0]);
        });
        expect(await count()).toEqual([1, 0]);
        sink.answerWith({ status: 200 });
        await restart();
        await until(async () => {
          gateway.moveClock(1000);
          return (await place.countLeft()) === 0;
        });
        expect(sink.requests.filter(({ body }) => body.toString() === "1")).toHaveLength(1);
      }),
  },
];

/** Of the subscription. */
export async function idOf(gateway: {
  get(path: string): Promise<{ json: Record<string, unknown> }>;
}): Promise<string> {
  const { json } = await gateway.get("/api/v1/subscriptions");
  return (json["data"] as { id: string; name: string }[]).find(({ name }) => name === "all")?.id ?? "";
}
