import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { checkAccounts, countDuplicates, describeViolations, type Books } from "../../support/accounting.ts";
import { until } from "../../support/api-client.ts";
import { createFaultyBroker, type Fault, type FaultyBroker } from "../../support/brokers/faulty-broker.ts";
import { BROKER_KINDS, connect, findConnection } from "../../support/brokers/shared-queues.ts";
import { publishLoad, type PublishedEvent } from "../../support/brokers/publish-load.ts";
import type { BrokenPromises } from "../../support/broken-promises.mjs";
import { ADMIN_KEY, drained } from "../../support/gateway-process.ts";
import { keepGateway, type KeptGateway } from "../../support/kept-gateway.ts";
import { sizedHeavy } from "../../support/proof-size.ts";
import { openRecordingSink, type RecordingSink } from "../../../src/cli/trial/sink.ts";
import { count, report } from "../../support/report.ts";
import { readStoreFacts } from "../../support/store-facts.ts";

/** How often each fault happens, and a kill of the gateway after it. */
const ROUNDS = sizedHeavy({ middle: 2, long: 12 });
/** Messages before and after each. */
const PER_FAULT = sizedHeavy({ middle: 300, long: 500 });
const PATIENT_MS = 300_000;
/** By what they are taken from. */
const QUEUES = ["stored", "delivered"] as const;

const root = mkdtempSync(join(tmpdir(), "posthorn-taking-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

interface World {
  broker: FaultyBroker;
  gateway: KeptGateway;
  sink: RecordingSink;
  ledger: PublishedEvent[];
  /** So many are published from now on, beside what goes on. */
  publish(more: number): void;
  /** Nothing more is published. */
  endLoad(): Promise<void>;
  depth(...queues: string[]): Promise<number>;
  close(): Promise<void>;
}

function configOf(broker: FaultyBroker, sink: RecordingSink): object {
  return {
    connections: [broker.input],
    targets: [{ name: "receiver" }],
    sources: QUEUES.map((acknowledge) => ({
      name: acknowledge,
      kind: broker.input.kind,
      options: {
        ...broker.sourceOptions(acknowledge),
        body: "event",
        acknowledge,
        target: "receiver",
        max_unacknowledged: 60,
      },
    })),
    subscriptions: [
      {
        name: "all",
        url: sink.urlOf("all"),
        target: "receiver",
        events: ["load.*"],
        format: "raw",
        retry_policy: { delays_s: Array.from({ length: 40 }, () => 0.5) },
      },
    ],
  };
}

let worlds = 0;

async function openWorld(broker: FaultyBroker, broken: BrokenPromises = {}): Promise<World> {
  const sink = await openRecordingSink();
  const gateway = await keepGateway(join(root, String(++worlds)), configOf(broker, sink), broken);
  const connections = connect(broker.input);
  const connection = findConnection(connections, broker.input);
  const ledger: PublishedEvent[] = [];
  const ended = new AbortController();
  let allowed = 0;
  const publishing = publishLoad({
    connection,
    queues: QUEUES,
    address: (queue) =>
      broker.input.kind === "amqp" ? { publisher: "", subject: queue } : { publisher: queue, subject: undefined },
    ledger,
    signal: ended.signal,
    pace: () => until(() => ledger.length < allowed || ended.signal.aborted),
  });
  async function endLoad(): Promise<void> {
    ended.abort();
    await publishing;
  }
  return {
    broker,
    gateway,
    sink,
    ledger,
    publish: (more) => void (allowed += more),
    endLoad,
    async depth(...queues) {
      const wanted = queues.length === 0 ? QUEUES : queues;
      const depths = await Promise.all(wanted.map((queue) => connection.depth(queue)));
      return depths.reduce((sum, { ready, held = 0 }) => sum + ready + held, 0);
    },
    async close() {
      await endLoad();
      await gateway.stop();
      await sink.close();
      await connections.close();
    },
  };
}

/** All is taken and delivered; a gateway that stops gives back what it holds, so that nothing is overlooked. */
async function takeAll({ gateway, broker, depth }: World): Promise<void> {
  do {
    if (gateway.url() === undefined) await gateway.start();
    await broker.passHold();
    await until(async () => (await depth()) === 0, PATIENT_MS, "empty queues");
    await drained(gateway.url() ?? "");
    await gateway.stop();
  } while ((await depth()) > 0);
}

async function hasStored(gateway: KeptGateway, source: string): Promise<boolean> {
  const url = `${gateway.url()}/api/v1/events?source=${source}&limit=1`;
  const response = await fetch(url, { headers: { "x-api-key": ADMIN_KEY } });
  return ((await response.json()) as { data: unknown[] }).data.length > 0;
}

async function runFaults(
  broker: FaultyBroker,
  choose: (faults: readonly Fault[]) => readonly Fault[],
  broken?: BrokenPromises,
): Promise<Books & { lostByBroker: number }> {
  const world = await openWorld(broker, broken);
  const { gateway, sink, ledger } = world;
  let lostBefore = 0;
  try {
    for (const fault of choose(broker.faults)) {
      const before = ledger.length;
      world.publish(PER_FAULT);
      await until(() => ledger.length > before + PER_FAULT / 2, PATIENT_MS, "messages before the fault");
      await fault.begin();
      if (!fault.keepsAll) lostBefore = Date.now();
      await fault.end();
      await until(() => ledger.length >= before + PER_FAULT, PATIENT_MS, "messages after the fault");
      // The gateway takes again, and is killed in the middle of that.
      const arrived = sink.arrivals.length;
      world.publish(PER_FAULT);
      await until(() => sink.arrivals.length > arrived + PER_FAULT / 4, PATIENT_MS, "deliveries after the fault");
      if (broken !== undefined) {
        // What is taken and not written yet is lost: so the control does not hang on the moment.
        world.publish(PER_FAULT);
        await until(() => ledger.length >= before + 3 * PER_FAULT, PATIENT_MS, "messages before the kill");
        await until(async () => (await world.depth("stored")) === 0, PATIENT_MS, "that they are taken");
      }
      await gateway.kill();
      await broker.passHold();
      await until(() => ledger.length >= before + 2 * PER_FAULT, PATIENT_MS, "messages after the kill");
      await until(async () => (await world.depth()) === 0, PATIENT_MS, "empty queues");
    }
    await world.endLoad();
    await takeAll(world);
    const facts = await readStoreFacts(gateway.database);
    const stored = new Set(facts.events.map(({ eventId }) => eventId));
    // What the broker confirmed and lost before anybody took it is its own loss.
    const isLostByBroker = (sent: PublishedEvent) => sent.sentAtMs <= lostBefore && !stored.has(sent.eventId);
    const sent = ledger.map((one) => (isLostByBroker(one) ? { ...one, answer: "unknown" as const } : one));
    const lostByBroker = ledger.filter(isLostByBroker).length;
    return { sent, arrivals: sink.arrivals, ...facts, ordered: new Set(), lostByBroker };
  } finally {
    await world.close();
  }
}

describe.each(BROKER_KINDS)("taking by %s under load", (kind) => {
  const broker = createFaultyBroker(kind, QUEUES);
  afterAll(() => broker.close());

  // shows: Q30
  it("loses nothing that was taken, while the broker is stopped, killed and emptied and the gateway is killed", async (context) => {
    const run = await runFaults(await broker.open(context), (faults) =>
      Array.from({ length: ROUNDS }, () => faults).flat(),
    );
    const violations = checkAccounts(run);
    const deliveries = run.events.flatMap((event) => event.deliveries);
    const interrupted = deliveries.reduce((sum, { interruptions }) => sum + interruptions, 0);
    const duplicates = countDuplicates(run.arrivals);
    report(
      `${kind} as a source: ${violations.length} violations in ${count(run.sent.length)} messages, ${duplicates} came ` +
        `twice, ${interrupted} attempts were in flight at a kill, ${run.lostByBroker} were lost by the broker after its word`,
    );
    expect(describeViolations(violations)).toBe("");
    expect([...new Set(deliveries.map(({ state }) => state))]).toEqual(["delivered"]);
    expect(duplicates).toBeLessThanOrEqual(interrupted);
    expect(run.lostByBroker).toBeLessThan(run.sent.length / 2);
  });

  // shows: Q15
  it("is a test that can fail: a message that is acknowledged before the commit is lost", async (context) => {
    const stopped = (faults: readonly Fault[]) => faults.filter(({ name }) => name === "stopped");
    const run = await runFaults(await broker.open(context), stopped, { answerBeforeCommit: true, commitLate: true });
    const lost = checkAccounts(run).filter(({ kind: violation }) => violation === "lost");
    report(`${kind} as a source, control acknowledged before the commit: ${lost.length} lost`);
    expect(lost.length).toBeGreaterThan(0);
  });

  // shows: Q17
  it("with `delivered` survives the loss of the gateway's disk, and with `stored`, the control, does not", async (context) => {
    const world = await openWorld(await broker.open(context));
    const { gateway, sink, ledger } = world;
    try {
      sink.answerWith(503);
      world.publish(PER_FAULT);
      await until(() => ledger.length >= PER_FAULT, PATIENT_MS);
      for (const queue of QUEUES) await until(() => hasStored(gateway, queue), PATIENT_MS, `events of ${queue}`);
      await until(async () => (await world.depth("stored")) === 0, PATIENT_MS, "that all is stored");
      await gateway.loseDisk();
      sink.answerWith(200);
      await world.endLoad();
      await takeAll(world);
      const arrived = new Set(sink.arrivals.flatMap(({ hash, accepted }) => (accepted ? [hash] : [])));
      const missing = (queue: string) =>
        ledger.filter((one) => one.queue === queue && one.answer === "acknowledged" && !arrived.has(one.hash));
      report(
        `${kind} and a lost disk: ${missing("delivered").length} lost; control, stored: ${missing("stored").length}`,
      );
      expect(missing("delivered")).toEqual([]);
      expect(missing("stored").length).toBeGreaterThan(0);
    } finally {
      await world.close();
    }
  });
});
