import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { HttpClient } from "../../src/destinations/wire/http.ts";
import { parseHeaderBlock } from "../../src/model/headers.ts";
import { openHttpSender } from "../../src/destinations/http/sender.ts";
import { createIdSource } from "../../src/model/ids.ts";
import type { Subscription } from "../../src/model/subscription.ts";
import {
  createRotationJobs,
  createSecretRotation,
  END_OVERLAPS,
  type SecretRotation,
} from "../../src/jobs/secret-rotation.ts";
import { createJobs, type Jobs } from "../../src/jobs/jobs.ts";
import { createOwnEvents } from "../../src/accept/ingest.ts";
import { createChance } from "../support/chance.ts";
import { findSeedSecret, officialsAccept, type Received } from "../support/official-verifiers.ts";
import { senderServices } from "../support/sender-services.ts";
import { openSimulatedGateway, type SimulatedGateway } from "../support/simulated-gateway.ts";
import { NOON } from "../support/store-fixtures.ts";
import { MEMORY_FOLDER } from "../support/memory-folder.ts";
import { useFolder } from "../support/store-folder.ts";
import { createVirtualTime, moveClock } from "../support/virtual-clock.ts";
import { settleCalls, watchCalls } from "../support/watched-store.ts";

const HOUR_MS = 3_600_000;
/** Two rotations, and the overlap of the second. */
const DAYS = 200;
const DAY_MS = 24 * HOUR_MS;

interface World {
  gateway: SimulatedGateway;
  rotation: SecretRotation;
  jobs: Jobs;
  stop(): Promise<void>;
}

/** The official libraries read the machine's clock. */
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

describe("months of automatic rotation", () => {
  const folder = useFolder(MEMORY_FOLDER);

  /** A partner with one secret, who fetches the new one some days after it is told, and says so when it has it. */
  async function simulate(days: number, partner: { followsAfterDays: number; confirms: boolean }) {
    const time = createVirtualTime(NOON);
    const chance = createChance(3);
    const calls = { made: 0, open: 0 };
    const faults: unknown[] = [];
    const told: string[] = [];
    const refused: string[] = [];
    let accepted = 0;
    let secret = "";
    let world: World;

    function receive(received: Received): void {
      vi.setSystemTime(time.wall());
      const hasSeed = ["x-webhook-signature", "x-webhook-signature-next"].some(
        (header) => findSeedSecret({ mine: secret }, received, header) === "mine",
      );
      if (officialsAccept(secret, received) && hasSeed) accepted++;
      else refused.push(new Date(time.wall()).toISOString());
      if (received.headers["x-webhook-event"] !== "webhook.secret_rotating") return;
      told.push(new Date(time.wall()).toISOString());
      expect(received.body.includes("whsec_")).toBe(false);
      time.after(partner.followsAfterDays * DAY_MS, () => void follow());
    }

    async function follow(): Promise<void> {
      const { gateway, rotation } = world;
      const subscription = gateway.subscriptions.list(undefined)[0] as Subscription;
      const keys = gateway.subscriptions.keysOf(subscription);
      secret = keys.secrets.find(({ expiresAt }) => expiresAt === undefined)?.secret ?? secret;
      if (partner.confirms) await rotation.confirm(subscription, { retire: false });
    }

    const client: HttpClient = {
      request({ headers, body, url }, done) {
        const sent = Object.entries(typeof headers === "string" ? parseHeaderBlock(headers) : headers);
        const named = Object.fromEntries(sent.map(([name, value]) => [name.toLowerCase(), value]));
        receive({ headers: named, body: Buffer.from(body) });
        const answer = { status: 200, headers: {}, body: new Uint8Array(), address: "192.0.2.1", url: String(url) };
        time.after(5, () => done({ kind: "response", ...answer }));
      },
      close: () => Promise.resolve(),
    };

    async function open(): Promise<World> {
      const gateway = await openSimulatedGateway({
        folder: folder.path,
        time,
        chance,
        calls,
        createSender: ({ clock }) => openHttpSender(senderServices({ client, clock, userAgent: "Posthorn/simulated" })),
        maxInFlight: 10,
        maxBodyBytes: 1_000_000,
        maxRows: 1000,
        commitMs: 0,
        onFault: (error) => faults.push(error),
      });
      const { clock, accept, plan, subscriptions } = gateway;
      const { random } = chance;
      const onFault = (error: unknown) => void faults.push(error);
      const rotation = createSecretRotation({
        subscriptions,
        ownEvents: createOwnEvents({
          ingest: { acceptOwn: accept, plan },
          clock,
          createId: createIdSource(clock, random),
          onFault,
        }),
        clock,
        random,
        rotateAfterMs: 90 * DAY_MS,
        onOverlap: (endsAt) => jobs.runBy(END_OVERLAPS, endsAt),
        onRotation: () => undefined,
        onOverdue: () => undefined,
      });
      const store = watchCalls(gateway.store, { state: "alive", calls, tell: (run) => run() });
      const runner = String(time.elapsedMs);
      const jobs = createJobs({ store, clock, runner, jobs: createRotationJobs(rotation), onFault });
      await rotation.endOverlaps();
      await jobs.start();
      return {
        gateway,
        rotation,
        jobs,
        async stop() {
          await jobs.stop();
          await gateway.stop(0);
        },
      };
    }

    let seen = -1;
    /** Nothing is to be waited for where no call was made: clocks tick more often than that. */
    const settle = async () => {
      while (calls.made !== seen) {
        seen = calls.made;
        await settleCalls(() => calls);
      }
    };

    world = await open();
    const created = await world.gateway.subscriptions.create({
      name: "partner",
      url: "https://partner.example/hook",
      events: ["order.#", "webhook.secret_rotating"],
    });
    secret = created.secrets[0] ?? "";
    const first = secret;
    for (let day = 0; day < days; day++) {
      for (let quarter = 0; quarter < 4; quarter++) {
        const body = Buffer.from('{"event_type":"order.created","payload":{"total":12345678901234567890}}');
        world.gateway.publisher.publish(body, {}, () => undefined);
        await moveClock(time, 6 * HOUR_MS, settle);
      }
      // Also in the middle of an overlap: the 95th day.
      if (day % 50 === 45) {
        await settle();
        await world.stop();
        world = await open();
      }
    }
    await settle();
    const list = await world.jobs.list();
    await world.stop();
    return { accepted, refused, told, faults, secret, first, list };
  }

  // shows: C55
  it.each([
    { followsAfterDays: 1, confirms: true },
    { followsAfterDays: 13, confirms: false },
  ])("leave no delivery unverified for a partner who follows: %o", async (partner) => {
    const { accepted, refused, told, faults, secret, first, list } = await simulate(DAYS, partner);
    expect(faults).toEqual([]);
    expect(refused).toEqual([]);
    expect(accepted).toBe(DAYS * 4 + told.length);
    // Every 90 days, at the next daily look.
    const gaps = told.map(
      (time, index) => (Date.parse(time) - (index === 0 ? NOON : Date.parse(told[index - 1] ?? ""))) / DAY_MS,
    );
    expect(gaps).toHaveLength(2);
    for (const gap of gaps) expect([gap >= 90, gap <= 91.1]).toEqual([true, true]);
    expect(secret).not.toBe(first);
    expect(list.map(({ name, runs }) => [name, runs.length, new Set(runs.map(({ result }) => result))])).toEqual([
      ["rotate-secrets", 50, new Set(["success"])],
      ["end-overlaps", 50, new Set(["success"])],
    ]);
  });

  it("are noticed by a partner who does not follow, when the overlap has ended and not before", async () => {
    const { refused, told } = await simulate(110, { followsAfterDays: 1000, confirms: false });
    const days = (Date.parse(refused[0] ?? "") - Date.parse(told[0] ?? "")) / DAY_MS;
    expect([days >= 14, days <= 14.26]).toEqual([true, true]);
  });
});
