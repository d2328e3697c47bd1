import { expect } from "vitest";
import type { HoldLimits } from "../../../src/queues/broker.ts";
import { until, type ApiClient } from "../../support/api-client.ts";
import type { PulledHarness } from "../pulled-source-contract.ts";
import { DELIVERED_CHECKS } from "./delivered-checks.ts";
import { PATIENCE_MS, turns, withPullingGateway } from "./gateway.ts";
import { NAMED_CHECKS } from "./named-checks.ts";
import { PARKING_CHECKS } from "./parking-checks.ts";

export interface PulledCheck {
  name: string;
  appliesTo?: (limits: HoldLimits) => boolean;
  run: (harness: PulledHarness) => Promise<void>;
}

const JSON_TYPE = { "content-type": "application/json" };

const STORED_CHECKS: readonly PulledCheck[] = [
  // shows: B7, Q15
  {
    name: "takes a message with its bytes, and acknowledges it when it is on disk and not before",
    run: (harness) =>
      withPullingGateway(harness, { mode: "held back" }, async ({ place, sink, accepts, listEvents }) => {
        const body = '{ "n": 12345678901234567890 }\n';
        await place.send(body, { id: "a", headers: { ...JSON_TYPE, "x-shop": "7" } });
        await until(() => accepts.calls === 1);
        await turns();
        expect([await place.countLeft(), await listEvents()]).toEqual([1, []]);
        accepts.release();
        await until(async () => (await place.countLeft()) === 0);
        const [request] = await sink.received(1);
        expect(request?.body.toString()).toBe(body);
        expect(await listEvents()).toMatchObject([
          { event_id: expect.stringMatching(/^msg_/), event_type: "webhook.queue", headers: { "x-shop": "7" } },
        ]);
        expect(await place.listParked()).toEqual([]);
      }),
  },
  // shows: Q15
  {
    name: "stores a message once when its taker died before the commit, or after it and before it could acknowledge",
    async run(harness) {
      for (const mode of ["lost before", "lost after"] as const) {
        await withPullingGateway(harness, { mode }, async ({ place, sink, accepts, restart, gateway, listEvents }) => {
          await place.send("{}", { id: "a", headers: JSON_TYPE });
          await until(() => accepts.calls === 1);
          expect(await place.countLeft()).toBe(1);
          accepts.mode = "good";
          await restart();
          await until(async () => (await place.countLeft()) === 0);
          await gateway.settled();
          expect([(await listEvents()).length, sink.requests.length]).toEqual([1, 1]);
          expect(await place.listParked()).toEqual([]);
        });
      }
    },
  },
  // shows: Q8
  {
    name: "takes the same message once, and messages without an id as often as they come",
    run: (harness) =>
      withPullingGateway(harness, {}, async ({ place, gateway, listEvents }) => {
        for (const id of ["a", "a", "b", undefined, undefined]) await place.send("{}", { id, headers: JSON_TYPE });
        await until(async () => (await place.countLeft()) === 0);
        await gateway.settled();
        expect(await listEvents()).toHaveLength(4);
      }),
  },
  // shows: Q16
  {
    name: "neither acknowledges nor parks while it cannot write, takes no more, and goes on when it can",
    run: (harness) =>
      withPullingGateway(harness, { mode: "failing" }, async ({ place, gateway, accepts, listEvents }) => {
        await place.send("{}", { id: "a", headers: JSON_TYPE });
        await until(() => accepts.calls > 0);
        await turns();
        await place.send("{}", { id: "b", headers: JSON_TYPE });
        await until(() => {
          gateway.moveClock(1000);
          return accepts.calls > 4;
        });
        expect([await place.countLeft(), await place.listParked(), await listEvents()]).toEqual([2, [], []]);
        expect(await place.countHeld()).toBeLessThanOrEqual(1);
        accepts.mode = "good";
        await until(async () => {
          gateway.moveClock(1000);
          return (await place.countLeft()) === 0;
        });
        expect(await listEvents()).toHaveLength(2);
      }),
  },
  // shows: Q70
  {
    name: "parks what its sender must mend, with the reason, and keeps it in the log of requests",
    run: (harness) =>
      withPullingGateway(harness, { settings: { max_bytes: 100 } }, async ({ place, gateway, listEvents }) => {
        await place.send("{broken", { id: "a", headers: JSON_TYPE });
        await place.send("x".repeat(101), { id: "b" });
        await place.send("{}", { id: "c", headers: { ...JSON_TYPE, "x-posthorn-hops": "9" } });
        await until(async () => (await place.countLeft()) === 0);
        const parked = await place.listParked();
        const reasons = parked.map(({ body, reason }) => [body.toString().slice(0, 7), reason.code]);
        expect(Object.fromEntries(reasons)).toEqual({
          xxxxxxx: "too_large",
          "{broken": place.unreadable ?? "unreadable_body",
          "{}": "loop",
        });
        expect(parked.every(({ reason }) => reason.description.length > 10)).toBe(true);
        await until(async () => (await gateway.rejected("queue")).length === 3);
        expect(await listEvents()).toEqual([]);
      }),
  },
  // shows: Q26
  {
    name: "acknowledges what nobody wants",
    run: (harness) =>
      withPullingGateway(harness, {}, async ({ place, gateway, listEvents }) => {
        await gateway.request("PATCH", "/api/v1/sources/queue", {
          body: '{"only":["something.else"]}',
          headers: JSON_TYPE,
        });
        await place.send("{}", { id: "a", headers: JSON_TYPE });
        await until(async () => (await place.countLeft()) === 0);
        expect([await place.listParked(), await listEvents()]).toEqual([[], []]);
      }),
  },
  // shows: C43
  {
    name: "holds no more messages than it may",
    run: (harness) =>
      withPullingGateway(
        harness,
        { mode: "held back", source: { max_unacknowledged: 3, batch_size: 2 } },
        async ({ place, accepts, gateway }) => {
          await setStatus(gateway, "paused");
          await turns();
          for (let n = 0; n < 8; n++) await place.send("{}", { id: `m-${n}`, headers: JSON_TYPE });
          await setStatus(gateway, "active");
          await until(() => accepts.calls >= 3);
          await turns();
          expect([accepts.calls, await place.countHeld()]).toEqual([3, 3]);
          await until(async () => {
            accepts.release();
            return (await place.countLeft()) === 0;
          });
        },
      ),
  },
  // shows: Q23
  {
    name: "parks a message that was taken too often, unless it is on disk",
    run: (harness) =>
      withPullingGateway(
        harness,
        { mode: "lost before", source: { max_deliveries: 2 } },
        async ({ place, accepts, listEvents }) => {
          await place.send('"poison"', { id: "poison", headers: JSON_TYPE });
          for (let calls = 1; calls <= 2; calls++) {
            await until(() => accepts.calls === calls);
            await place.loseTakers();
          }
          await until(async () => (await place.countLeft()) === 0);
          expect(await place.listParked()).toMatchObject([{ reason: { code: "max_deliveries" } }]);

          accepts.mode = "lost after";
          await place.send('"asleep"', { id: "asleep", headers: JSON_TYPE });
          for (let calls = 3; calls <= 6; calls++) {
            await until(async () => accepts.calls === calls && (await listEvents()).length === 1);
            await place.loseTakers();
          }
          accepts.mode = "good";
          await place.loseTakers();
          await until(async () => (await place.countLeft()) === 0);
          expect([(await place.listParked()).length, (await listEvents()).length]).toEqual([1, 1]);
        },
      ),
  },
  {
    name: "takes nothing while the disk is nearly full",
    run: (harness) =>
      withPullingGateway(harness, { env: { DISK_MIN_FREE_BYTES: 1e17 } }, async ({ place, gateway, restart }) => {
        await place.send("{}", { id: "a", headers: JSON_TYPE });
        for (let look = 0; look < 5; look++) {
          gateway.moveClock(1000);
          await turns();
        }
        expect([await place.countLeft(), await place.countHeld()]).toEqual([1, 0]);
        await restart({ env: {} });
        await until(async () => (await place.countLeft()) === 0);
      }),
  },
  {
    name: "takes nothing while its source is paused, and says how many wait",
    run: (harness) =>
      withPullingGateway(harness, {}, async ({ place, gateway }) => {
        await setStatus(gateway, "paused");
        await turns();
        for (const id of ["a", "b"]) await place.send("{}", { id, headers: JSON_TYPE });
        await turns();
        // A real broker may still bring them to whoever has just stopped, and has them back a moment later.
        const timeout = harness.patienceMs ?? PATIENCE_MS;
        const count = async () => [await place.countLeft(), await place.countHeld()];
        await expect.poll(count, { timeout }).toEqual([2, 0]);
        const settings = { source: "queue", secrets: [], options: place.options };
        await expect.poll(() => place.kind.depth(settings), { timeout }).toBe(2);
        await setStatus(gateway, "active");
        await until(async () => (await place.countLeft()) === 0);
      }),
  },
  {
    name: "stops in order: what is on its way to the disk is acknowledged, and nothing new is taken",
    run: (harness) =>
      withPullingGateway(harness, { mode: "held back" }, async ({ place, accepts, gateway }) => {
        await place.send("{}", { id: "a", headers: JSON_TYPE });
        await until(() => accepts.calls === 1);
        const stopped = gateway.stop();
        await turns();
        await place.send("{}", { id: "b", headers: JSON_TYPE });
        accepts.release();
        await stopped;
        expect([await place.countLeft(), await place.countHeld(), accepts.calls]).toEqual([1, 0, 1]);
      }),
  },
];

async function setStatus(gateway: ApiClient, status: string): Promise<void> {
  await gateway.request("PATCH", "/api/v1/sources/queue", { body: JSON.stringify({ status }), headers: JSON_TYPE });
}

export const PULLED_CHECKS: readonly PulledCheck[] = [
  ...STORED_CHECKS,
  ...DELIVERED_CHECKS,
  ...PARKING_CHECKS,
  ...NAMED_CHECKS,
];
