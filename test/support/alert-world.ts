/** The engine with its alerts, in virtual time: what is wrong, and what is told of it. */
import { toActiveRules, type AlertRuleInput } from "../../src/model/alert.ts";
import { GATEWAY_TENANT } from "../../src/model/event.ts";
import type { Undrained } from "../../src/deliver/fallback-drain.ts";
import { createKnownCertificates } from "../../src/destinations/wire/guarded-connect.ts";
import { ONE_BY_ONE, type Attempt, type Sender } from "../../src/destinations/sender.ts";
import { createIdSource } from "../../src/model/ids.ts";
import { DELIVERED, type Outcome } from "../../src/model/outcome.ts";
import { isGatewayEventType } from "../../src/model/pattern.ts";
import { openAlerts, type Alerts } from "../../src/alerts/alerts.ts";
import { createAttemptWindows } from "../../src/alerts/attempt-window.ts";
import { createFactsReader, type DisabledSource, createParkedCounts } from "../../src/alerts/facts.ts";
import type { BrokenFile } from "../../src/resources/validations/validation-folder.ts";
import { openDiskWatch } from "../../src/jobs/disk-watch.ts";
import { createOwnEvents } from "../../src/accept/ingest.ts";
import { createSecretRotation, type SecretRotation } from "../../src/jobs/secret-rotation.ts";
import { createRegistry } from "../../src/resources/registry.ts";
import { createChance } from "./chance.ts";
import { recordOf } from "./http-outcomes.ts";
import { openSimulatedGateway, type SimulatedGateway } from "./simulated-gateway.ts";
import { NOON } from "./store-fixtures.ts";
import { createVirtualTime, moveClock } from "./virtual-clock.ts";
import { settleCalls, watchCalls, type Life } from "./watched-store.ts";

const MIB = 1_048_576;

export interface AlertWorldOptions {
  folder: string;
  rules?: readonly AlertRuleInput[];
  rotateAfterMs?: number;
  /** How alerts are made otherwise, to break a promise. */
  makeAlerts?: (make: typeof openAlerts) => typeof openAlerts;
}

/** What is wrong; a test changes it. */
export interface Wrongs {
  /** Undefined: the destination takes it in 20 ms. */
  answer: (attempt: Attempt) => { outcome: Outcome; afterMs?: number } | undefined;
  freeMib: number;
  undrained: Undrained[];
  disabledSources: DisabledSource[];
  brokenFiles: BrokenFile[];
  /** By source; a text when the broker does not answer. */
  parked: Record<string, number | string>;
}

export interface Told {
  type: string;
  rule: string;
  count: number;
  causes: string[];
}

export interface AlertWorld {
  readonly gateway: SimulatedGateway;
  readonly alerts: Alerts;
  readonly rotation: SecretRotation;
  readonly wrongs: Wrongs;
  readonly faults: unknown[];
  readonly now: number;
  showCertificate(host: string, notAfter: number): void;
  subscribe(name: string, more?: Record<string, unknown>): Promise<number>;
  publish(eventType: string, more?: Record<string, unknown>): Promise<void>;
  pass(ms: number): Promise<void>;
  /** What was told, the earliest first: to those who run the gateway, or to a tenant. */
  told(tenantId?: string): Promise<Told[]>;
  /** The last line that was told to those who run the gateway. */
  lastSummary(): Promise<string | undefined>;
  /** Only the rules, with + and -. */
  rules(tenantId?: string): Promise<string[]>;
  restart(how?: "stop" | "kill"): Promise<void>;
  close(): Promise<void>;
}

export const EVERY_MS = 15_000;
const SLICE_MS = 5000;

export async function openAlertWorld(options: AlertWorldOptions): Promise<AlertWorld> {
  const time = createVirtualTime(NOON);
  const chance = createChance(7);
  const calls: Life["calls"] = { made: 0, open: 0 };
  const faults: unknown[] = [];
  const onFault = (error: unknown) => void faults.push(error);
  const wrongs: Wrongs = {
    answer: () => undefined,
    freeMib: 100_000,
    undrained: [],
    disabledSources: [],
    brokenFiles: [],
    parked: {},
  };
  let opened = await open();
  let published = 0;

  function createSender(isAlive: () => boolean): Sender {
    return {
      limitsOf: () => ONE_BY_ONE,
      send(attempts, done) {
        const [attempt] = attempts as [Attempt];
        const { outcome, afterMs = 20 } = wrongs.answer(attempt) ?? { outcome: DELIVERED };
        const report = { outcome, startedAt: time.wall(), durationMs: afterMs, record: recordOf(attempt.subscription) };
        time.after(afterMs, () => void (isAlive() && done([report])));
      },
      close: () => Promise.resolve(),
    };
  }

  async function open() {
    const windows: { now?: ReturnType<typeof createAttemptWindows> } = {};
    const gateway = await openSimulatedGateway({
      folder: options.folder,
      time,
      chance,
      calls,
      createSender: ({ isAlive }) => createSender(isAlive),
      maxInFlight: 50,
      maxBodyBytes: 1_000_000,
      maxRows: 1000,
      commitMs: 0,
      onFault,
      onAttempt(subscription, delivery, report, settlement) {
        if (isGatewayEventType(delivery.event.type)) return;
        const isSuccess = settlement.attempt.result === "success";
        const isRetry = delivery.attemptCount > 0;
        windows.now?.record(subscription.seq, { durationMs: report.durationMs, isSuccess, isRetry });
      },
    });
    const { clock, subscriptions, accept, plan } = gateway;
    const store = watchCalls(gateway.store, { state: "alive", calls, tell: (run) => run() });
    const { random } = chance.fork();
    const createId = createIdSource(clock, random);
    const ownEvents = createOwnEvents({ ingest: { acceptOwn: accept, plan }, clock, createId, onFault });
    const rules = toActiveRules(options.rules ?? []);
    windows.now = createAttemptWindows(clock);
    windows.now.watch(rules);
    const rotation = createSecretRotation({
      subscriptions,
      ownEvents,
      clock,
      random,
      rotateAfterMs: options.rotateAfterMs ?? 0,
      onOverlap: () => Promise.resolve(),
      onRotation: () => undefined,
      onOverdue: () => undefined,
    });
    const disk = openDiskWatch({
      dataDir: options.folder,
      minFreeBytes: 256 * MIB,
      ballastBytes: 0,
      clock,
      loadReusableBytes: () => Promise.resolve(0),
      onChange: () => undefined,
      onBallastFault: onFault,
      measure: () => wrongs.freeMib * MIB,
    });
    const certificates = createKnownCertificates(clock);
    const parked = createParkedCounts({
      clock,
      listSources: () => Object.keys(wrongs.parked).map((name) => ({ name, tenantId: "default" })),
      async count(source) {
        const count = wrongs.parked[source];
        if (typeof count !== "number") throw new Error(count);
        return count;
      },
    });
    const make = options.makeAlerts?.(openAlerts) ?? openAlerts;
    const alertsOptions: Parameters<typeof openAlerts>[0] = {
      registry: createRegistry({ records: store.records, clock }),
      ownEvents,
      clock,
      createId,
      rules,
      everyMs: EVERY_MS,
      isErasing: () => false,
      loadFacts: createFactsReader({
        ...gateway,
        store,
        attempts: windows.now.byLength,
        disk,
        parked,
        drain: { listUndrained: () => Promise.resolve(wrongs.undrained) },
        listDisabledSources: () => wrongs.disabledSources,
        listBrokenFiles: () => wrongs.brokenFiles,
        listCertificates: certificates.list,
        listOverdueSecrets: rotation.listOverdue,
      }),
      onFired: () => undefined,
      onCleared: () => undefined,
      onFault,
    };
    const alerts = await make(alertsOptions);
    parked.start();
    alerts.start();
    return {
      gateway,
      alerts,
      rotation,
      certificates,
      async stop(how: "stop" | "kill") {
        await disk.close();
        await parked.stop();
        await alerts.stop();
        if (how === "kill") await gateway.kill();
        else await gateway.stop(0);
      },
    };
  }

  let seen = -1;
  async function settle(): Promise<void> {
    while (calls.made !== seen) {
      seen = calls.made;
      await settleCalls(() => calls);
    }
  }

  async function pass(ms: number): Promise<void> {
    await moveClock(time, ms, settle);
    await settle();
  }

  async function toldInFull(tenantId = GATEWAY_TENANT): Promise<(Told & { summary: string })[]> {
    const { reads } = opened.gateway.store;
    const { rows } = await reads.listEvents({ tenantId, typePattern: "alert.*" }, { limit: 500, cursor: undefined });
    const found: (Told & { summary: string })[] = [];
    for (const { seq, type } of rows.toReversed()) {
      const event = await reads.loadEvent(seq);
      const data = JSON.parse(Buffer.from(event?.body ?? "").toString()) as {
        rule: string;
        count: number;
        summary: string;
        causes: { name: string }[];
      };
      const { rule, count, summary, causes } = data;
      found.push({ type, rule, count, summary, causes: causes.map(({ name }) => name) });
    }
    return found;
  }

  async function told(tenantId?: string): Promise<Told[]> {
    return (await toldInFull(tenantId)).map(({ type, rule, count, causes }) => ({ type, rule, count, causes }));
  }

  return {
    get gateway() {
      return opened.gateway;
    },
    get alerts() {
      return opened.alerts;
    },
    get rotation() {
      return opened.rotation;
    },
    wrongs,
    faults,
    get now() {
      return time.wall();
    },
    showCertificate: (host, notAfter) =>
      opened.certificates.record(host, {
        getPeerCertificate: () => ({ valid_to: new Date(notAfter).toUTCString() }) as never,
      }),
    async subscribe(name, more = {}) {
      const url = `https://${name.toLowerCase().replaceAll(" ", "-")}.example/hook`;
      const { seq } = await opened.gateway.subscriptions.create({ name, url, events: [`${name}.#`], ...more });
      return seq;
    },
    async publish(eventType, more = {}) {
      const event = { event_type: eventType, payload: { number: published++ }, ...more };
      await new Promise<void>((resolve) => {
        opened.gateway.publisher.publish(Buffer.from(JSON.stringify(event)), {}, () => resolve());
      });
      await settle();
    },
    pass,
    told,
    lastSummary: async () => (await toldInFull()).at(-1)?.summary,
    rules: async (tenantId) =>
      (await told(tenantId)).map(({ type, rule }) => `${type === "alert.fired" ? "+" : "-"}${rule}`),
    async restart(how = "stop") {
      const stopping = opened.stop(how);
      await moveClock(time, SLICE_MS, settle);
      await stopping;
      opened = await open();
    },
    async close() {
      await settle();
      const stopping = opened.stop("stop");
      await moveClock(time, SLICE_MS, settle);
      await stopping;
    },
  };
}
