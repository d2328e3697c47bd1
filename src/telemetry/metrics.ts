import { Gauge, Registry, collectDefaultMetrics } from "prom-client";
import type { ForwardResult } from "../model/forward-rules.ts";
import { createLatencyWindow, createCounter, createHistogram, createSummary } from "./meters.ts";

export type Metrics = ReturnType<typeof createMetrics>;

interface AttemptFacts {
  subscriptionId: string;
  eventType: string;
  result: string;
  isRetry: boolean;
  durationMs: number;
  /** The time from acceptance to delivery; undefined unless it was delivered. */
  dwellMs: number | undefined;
}

/** Values that are read when somebody asks for the metrics. */
const GAUGES = {
  openDeliveries: ["posthorn_open_deliveries", "Deliveries that are pending or being sent"],
  deadLetters: ["dlq_messages", "Dead letters"],
  activeSubscriptions: ["webhook_active_subscriptions", "Subscriptions that are active"],
  inFlight: ["posthorn_attempts_in_flight", "Attempts in progress"],
  destinationsDown: ["posthorn_destinations_down", "Subscriptions whose destination is down (QUEUE mode)"],
  freeDiskBytes: ["posthorn_disk_free_bytes", "Free space on the data disk"],
  loopLagMs: ["posthorn_loop_lag_ms", "How late the event loop is"],
  walBytes: ["posthorn_wal_bytes", "Size of the store's write-ahead log"],
  dueEvents: ["posthorn_retention_due_events", "Approximate number of events due for deletion"],
  retentionBehindS: ["posthorn_retention_behind_seconds", "How long the oldest of these events has been due"],
  // created − (delivered + dead + cancelled + open), counted independently.
  imbalance: ["posthorn_conservation_imbalance", "Deliveries created minus those accounted for; must be 0"],
} as const;
type GaugeName = keyof typeof GAUGES;

/** The same, with a value for each thing. */
interface ThingValues {
  targets?: readonly TargetValues[];
  connections?: readonly { kind: string; name: string; isConnected: boolean }[];
  /** The messages in the queue of each source; undefined where its broker has not counted them. */
  queues?: readonly { source: string; depth: number | undefined }[];
  /** Of the whole gateway: at most one for each rule. */
  alerts?: readonly { rule: string; severity: string; isActive: boolean }[];
}

interface TargetValues {
  tenantId: string;
  name: string;
  mode: string;
  health: string;
  queueLength: number;
  /** How long its oldest open delivery has been due or tried; 0 without one. */
  oldestOpenS: number;
}

/** Beyond this number, only some targets are listed: those with problems first. */
const MAX_TARGETS = 1000;
/** Label values beyond this number are counted as `other`. */
const MAX_LABELS = 1000;
/** Subscriptions times event types: beyond this number, new types are counted as `other`. */
const MAX_PAIRS = 10_000;
const COMMIT_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const COMMIT_ROWS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
const LATENCY_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const TARGET = ["tenant_id", "target"];

/** `now`: in ms, for metrics of the last minutes. */
export function createMetrics(now: () => number = () => performance.now()) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const counter = (name: string, help: string) => createCounter(registry, { name, help });
  const histogram = (name: string, help: string, buckets = LATENCY_BUCKETS) =>
    createHistogram(registry, { name, help, buckets });
  const requests = counter("posthorn_requests_total", "Inbound webhook requests by outcome");
  const serverErrors = counter("posthorn_server_errors_total", "Answers of 5xx on any route, by their code");
  const closedConnections = counter(
    "posthorn_connections_closed_total",
    "Inbound connections closed because there were too many: idle ones evicted, new ones rejected",
  );
  const events = counter("posthorn_events_total", "Events by their result when they were received");
  const pruned = counter("posthorn_events_pruned_total", "Events deleted after their retention time").with({});
  const costlyFilters = counter(
    "posthorn_filters_too_costly_total",
    "Filters that exceeded their step budget on an event, and so did not match",
  ).with({});
  const deliveries = counter("webhook_delivery_total", "Attempts by result");
  const successes = counter("webhook_delivery_success", "Successful attempts").with({});
  const retries = counter("webhook_retry_total", "Attempts that were not the first").with({});
  const latency = histogram("webhook_delivery_latency_seconds", "Duration of attempts");
  const recent = createSummary(
    registry,
    { name: "webhook_delivery_latency", help: "Duration of the attempts of the last ten minutes, in seconds" },
    createLatencyWindow(now),
  );
  const dwell = histogram("posthorn_accept_to_delivered_seconds", "From acceptance of an event to its delivery", [
    ...LATENCY_BUCKETS,
    60,
    600,
    3600,
    86_400,
  ]).with({});
  const commitSeconds = histogram(
    "posthorn_commit_seconds",
    "From handing a group of writes to the store until it is on disk",
    COMMIT_SECONDS,
  ).with({});
  const commitRows = histogram("posthorn_commit_rows", "Approximate rows of a group of writes", COMMIT_ROWS).with({});
  const forwards = counter(
    "posthorn_forwards_total",
    "Webhooks for forwarding subscriptions by answer: forwarded at once, queued, or rejected by the target",
  );
  const forwarded = forwards.with({ outcome: "forwarded" });
  const queued = forwards.with({ outcome: "queued" });
  const rejected = forwards.with({ outcome: "rejected" });
  const forwardLatency = histogram(
    "posthorn_forward_latency_seconds",
    "From receiving a webhook to the answer that it was forwarded",
  ).with({});
  const gauges = Object.entries(GAUGES).map(([key, [name, help]]) => [key as GaugeName, gauge(name, help)] as const);
  const ofTargets = {
    mode: gauge("posthorn_target_queue_mode", "1 while the target is in QUEUE mode, 0 in NORMAL", TARGET),
    health: gauge("posthorn_target_healthy", "1 while the target is healthy, as far as is known", TARGET),
    open: gauge("posthorn_target_open_deliveries", "Deliveries for the target that are pending or being sent", TARGET),
    oldest: gauge(
      "posthorn_target_oldest_open_seconds",
      "Age of the oldest delivery that waits for the target",
      TARGET,
    ),
  };
  const brokers = gauge(
    "posthorn_broker_connected",
    "1 while the connection to a broker works, 0 while it is down; absent before its first use",
    ["kind", "connection"],
  );
  const depths = gauge(
    "posthorn_source_queue_depth",
    "Messages that wait in the queue of a source, as its broker counts them",
    ["source"],
  );
  const alerts = gauge("posthorn_alerts_active", "1 while the alert of this rule is active", ["rule", "severity"]);
  const modeChanges = counter("posthorn_mode_changes_total", "How often targets changed to a mode");
  const modeCounts = remember((target) => {
    const [tenant_id = "", name = target] = target.split("\0");
    return remember((mode) => modeChanges.with({ tenant_id, target: name, mode }));
  });

  const requestCounts = remember((outcome) => requests.with({ outcome }));
  const serverErrorCounts = remember((code) => serverErrors.with({ code }));
  const closedCounts = remember((reason) => closedConnections.with({ reason }));
  const eventCounts = remember((result) => events.with({ result }));
  const pairs = { left: MAX_PAIRS };
  const subscriptionMeters = remember((id) => ({
    latency: latency.with({ webhook_id: id }),
    attempts: remember(
      (type) => remember((status) => deliveries.with({ webhook_id: id, event_type: type, status })),
      pairs,
    ),
  }));

  function gauge(name: string, help: string, labelNames: readonly string[] = []): Gauge {
    return new Gauge({ name, help, labelNames: [...labelNames], registers: [registry] });
  }

  function setTargets(targets: readonly TargetValues[]): void {
    const isTroubled = (target: TargetValues) => target.mode === "QUEUE" || target.health === "error";
    const shown =
      targets.length <= MAX_TARGETS
        ? targets
        : [...targets.filter(isTroubled), ...targets.filter((target) => !isTroubled(target))].slice(0, MAX_TARGETS);
    const setEach = (one: Gauge, valueOf: (target: TargetValues) => number) =>
      setAll(
        one,
        shown.map((target) => [{ tenant_id: target.tenantId, target: target.name }, valueOf(target)]),
      );
    setEach(ofTargets.mode, ({ mode }) => (mode === "QUEUE" ? 1 : 0));
    setEach(ofTargets.health, ({ health }) => (health === "ok" ? 1 : 0));
    setEach(ofTargets.open, ({ queueLength }) => queueLength);
    setEach(ofTargets.oldest, ({ oldestOpenS }) => oldestOpenS);
  }

  return {
    contentType: registry.contentType,
    countRequest: (outcome: string): void => void requestCounts(outcome).value++,
    countServerError: (code: string): void => void serverErrorCounts(code).value++,
    countClosedConnection: (reason: string): void => void closedCounts(reason).value++,
    countPruned: (count: number): void => void (pruned.value += count),
    countEvent: (result: "stored" | "duplicate" | "failed"): void => void eventCounts(result).value++,
    countCostlyFilters: (count: number): void => void (costlyFilters.value += count),
    countAttempt(attempt: AttemptFacts): void {
      const subscription = subscriptionMeters(attempt.subscriptionId);
      subscription.attempts(attempt.eventType)(attempt.result).value++;
      subscription.latency.observe(attempt.durationMs / 1000);
      recent.observe(attempt.durationMs / 1000);
      if (attempt.isRetry) retries.value++;
      if (attempt.result === "success") successes.value++;
      if (attempt.dwellMs !== undefined) dwell.observe(attempt.dwellMs / 1000);
    },
    countForward(result: ForwardResult, tookMs: number): void {
      (result === "forwarded" ? forwarded : result === "queued" ? queued : rejected).value++;
      if (result === "forwarded") forwardLatency.observe(tookMs / 1000);
    },
    countModeChange: ({ tenantId, name }: { tenantId: string; name: string }, mode: string) =>
      void modeCounts(`${tenantId}\0${name}`)(mode).value++,
    /** Counts a group of writes that is on disk. */
    countCommit(rows: number, tookMs: number): void {
      commitRows.observe(rows);
      commitSeconds.observe(tookMs / 1000);
    },
    /** All metrics in the Prometheus text format, together with values that are read only now. */
    async scrape(values: Readonly<Record<GaugeName, number>> & ThingValues): Promise<string> {
      const { targets = [], connections = [], queues = [] } = values;
      setTargets(targets);
      setAll(
        brokers,
        connections.map(({ kind, name, isConnected }) => [{ kind, connection: name }, isConnected ? 1 : 0]),
      );
      setAll(
        depths,
        queues.flatMap(({ source, depth }) => (depth === undefined ? [] : [[{ source }, depth] as const])),
      );
      setAll(
        alerts,
        (values.alerts ?? []).map(({ rule, severity, isActive }) => [{ rule, severity }, isActive ? 1 : 0]),
      );
      for (const [name, one] of gauges) one.set(values[name]);
      return registry.metrics();
    },
  };
}

/** What is not among them is no longer shown. */
function setAll(gauge: Gauge, values: readonly (readonly [labels: Record<string, string>, value: number])[]): void {
  gauge.reset();
  for (const [labels, value] of values) gauge.set(labels, value);
}

/** `shared`: how many more values there may be, over all meters that share the limit. */
function remember<Meter>(
  make: (label: string) => Meter,
  shared: { left: number } = { left: Number.POSITIVE_INFINITY },
): (label: string) => Meter {
  const known = new Map<string, Meter>();
  return (label) => {
    const found = known.get(label);
    if (found !== undefined) return found;
    const name = known.size < MAX_LABELS && shared.left > 0 ? label : "other";
    let meter = known.get(name);
    if (meter === undefined) {
      shared.left--;
      known.set(name, (meter = make(name)));
    }
    return meter;
  };
}
