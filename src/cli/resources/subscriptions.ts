import { RECOVER_INCLUDES } from "../../model/replay.ts";
import { ALL_TENANTS } from "../../model/subscription.ts";
import { SUBSCRIPTION_FIELDS } from "../../destinations/kinds.ts";
import { CommandFailure, usageFailure } from "../failure.ts";
import { countOf, print } from "../output.ts";
import { readNumber, readObject, readPairs, readSecret, readTime } from "../read-value.ts";
import {
  ago,
  asText,
  at,
  firstOf,
  ms,
  pairs,
  printFields,
  printRows,
  printStatus,
  rate,
  seconds,
  type Field,
  type Format,
  type Row,
} from "./fields.ts";
import { type Call, KEY, listNames, placeOf, type Resource, SUBSCRIPTION } from "./resource.ts";
import { FILE, flag, IDEMPOTENCY_KEY, IF_MATCH, OF_TENANT, ownFlag, OWNER } from "./flags.ts";
import { flagsOf, readYesNo, type Exceptions } from "./schema-flags.ts";

const { url, events } = SUBSCRIPTION_FIELDS;
/** The most common flags come first. */
const SCHEMA = { properties: { url, events, ...SUBSCRIPTION_FIELDS } };

const EXCEPTIONS: Exceptions = {
  tenant_id: null,
  tenants: {
    flag: "--tenants <tenant...>",
    help: "for operators: deliver the events of these tenants, or of all with '*'; no tenant sees the subscription",
    readAll: (ids) => (ids.length === 1 && ids[0] === ALL_TENANTS ? ALL_TENANTS : ids),
  },
  url: { flag: "--to <url>" },
  events: { flag: "--events <pattern...>" },
  event_filter: {
    flag: "--filter <json>",
    help: "only events that meet these conditions on data, headers and so on: JSON, @FILE, or none",
  },
  secret: {
    flag: "--secret-file <path>",
    help: "read the secret from a file, - for standard input; by default one is generated",
    read: readSecret,
  },
  ed25519: { off: "sign only with the secret" },
  headers: {
    flag: "-H, --header <name: value...>",
    help: "a header of every attempt, never sent to another origin; the given headers replace all earlier ones; or none",
    readAll: (headers, name) => readPairs(headers, name, /^([^:\s]+):\s*(.*)$/s),
  },
  labels: { help: "a label to find it by; the given labels replace all earlier ones" },
  auth: {
    flag: "--auth-file <path>",
    help: "credentials for the destination, as a JSON or yaml file; or none",
    read: readObject,
  },
  ordered: { off: "in any order" },
  on_dead_head: { flag: "--on-dead-head <what>" },
  on_give_up: { flag: "--on-give-up <what>" },
  give_up_on: { flag: "--give-up-on <status...>", read: readNumber },
  target: { flag: "--target <name>" },
  resume_when_healthy: { flag: "--resume-when-healthy <yes|no>", read: readYesNo },
  retry_policy: { flag: "--retry-policy <name>", help: "how often it is retried, and after which waits" },
  allowed_ips: { flag: "--allowed-ip <cidr...>" },
  signature_header: { flag: "--signature-header <name>", help: "header of the plain HMAC signature" },
  forward_headers: { flag: "--forward-header <name...>" },
  allow_own_url: { off: "reject a destination that leads back to this gateway" },
  description: { flag: "--description <text>", help: "for people" },
};

const RETRY_DELAYS = flag("--retry-delays <seconds,…>", "the waits between attempts in seconds: 5,60,600", {
  field: "retry_delays",
  read: (text, name) => text.split(",").map((delay) => readNumber(delay.trim(), name)),
});

/** A retry policy is a name or a list of waits. */
function withPolicy({ body: { retry_delays: delays, ...body } }: Call): Row {
  if (delays === undefined) return body;
  if (typeof body["retry_policy"] === "string") {
    throw usageFailure("--retry-policy and --retry-delays exclude each other; choose one.");
  }
  return { ...body, retry_policy: { delays_s: delays } };
}

const tenantsOf: Format = ([owner, tenants]) =>
  tenants === ALL_TENANTS ? "all tenants" : asText(Array.isArray(tenants) ? tenants : owner);

const attempts: Format = ([count, failed]) => `${asText(count)}, ${asText(failed)} of them failed`;

const destination: Format = ([settings, kind]) =>
  settings === undefined ? undefined : `${asText(kind)} ${asText(settings)}`;

const retries: Format = ([policy, count, interval]) =>
  describePolicy(policy) ?? `${asText(count)}, ${asText(interval)} s apart`;

const limits: Format = ([count, limit]) =>
  `${asText(count)} at once${limit === null ? "" : `, ${asText(limit)} a minute`}`;

const AFTER_DEAD = { block: "later deliveries wait", skip: "later deliveries continue" };
const afterDeadLetter: Format = ([what, isOrdered]) =>
  isOrdered === true ? AFTER_DEAD[what as keyof typeof AFTER_DEAD] : undefined;

const leavingQueue: Format = ([time, fallback], moment) =>
  fallback === null ? undefined : `after ${seconds([time], moment)} of good health at the latest`;

const created: Format = ([time, by], moment) => [at([time], moment), asText(by)].filter(Boolean).join(" by ");

const LAST_DAY = "stats.delivered_rate_24h stats.first_try_rate_24h stats.latency_p50_ms stats.latency_p99_ms";
const lastDay: Format = ([share, first, p50, p99], moment) =>
  share === null
    ? undefined
    : `${rate([share], moment)} delivered, ${rate([first], moment)} at the first try; half of the attempts took ` +
      `at most ${asText(p50)} ms, 99% at most ${asText(p99)} ms`;

const MAX_SHOWN_DELAYS = 8;

function describePolicy(policy: unknown): string | undefined {
  if (typeof policy !== "object" || policy === null) return asText(policy);
  const { delays_s: delays = [] } = policy as { delays_s?: readonly number[] };
  const more = delays.length > MAX_SHOWN_DELAYS ? ", …" : "";
  const shown = delays.slice(0, MAX_SHOWN_DELAYS).join(", ");
  return `${countOf(delays.length, "retry", "retries")}, after ${shown}${more} s`;
}

const { path: PATH } = SUBSCRIPTION;

/** The attempt; or the delivery, when no attempt could be made now. */
const TEST: readonly Field[] = [
  ["delivery", "delivery_id"],
  ["result", "result"],
  ["answer", "response_code"],
  ["took", "duration_ms", ms],
  ["error", "error"],
];

const STATISTICS: readonly Field[] = [
  ["subscription", "subscription_id"],
  ["attempts", "delivery_count failure_count", attempts],
  ["open", "open_count"],
  ["dead letters", "dead_count"],
];

const FIGURES: readonly Field[] = [
  ["TIME", "at"],
  ["ATTEMPTS", "attempt_count"],
  ["FAILED", "failure_count"],
  ["DELIVERED", "delivered_rate", rate],
  ["FIRST TRY", "first_try_rate", rate],
  ["P50", "latency_p50_ms", ms],
  ["P99", "latency_p99_ms", ms],
];

const STATUS_CHANGES: readonly Field[] = [
  ["WHEN", "at", ago],
  ["FROM", "from"],
  ["TO", "to"],
  ["WHO", "actor"],
  ["WHY", "reason"],
  ["AUDIT", "audit_seq"],
];

export const RESOURCE: Resource = {
  path: PATH,
  key: "subscription",
  named: SUBSCRIPTION,
  columns: [
    ["NAME", "name"],
    ["TENANT", "tenant_id tenants", tenantsOf],
    ["HEALTH", "condition"],
    ["EVENTS", "events"],
    ["URL", "url kind", ([url, kind]) => asText(url) ?? `(${asText(kind)})`],
    ["OPEN", "stats.open_count"],
    ["DEAD", "stats.dead_count"],
    ["DELIVERED 24H", "stats.delivered_rate_24h", rate],
    ["LAST DELIVERY", "stats.last_delivery", ago],
    ["ID", "id"],
  ],
  expendable: ["ID", "TENANT", "LAST DELIVERY", "DELIVERED 24H", "EVENTS"],
  facts: [
    ["subscription", "id"],
    ["health", "condition"],
    ["destination", "destination kind", destination],
    ["handshake", "handshake_result.error handshake_result.status", firstOf],
    ["tenants", "tenant_id tenants", tenantsOf],
    ["filter", "event_filter"],
    ["ordered", "ordered", ([isOrdered]) => (isOrdered === true ? "by ordering key" : undefined)],
    ["retries", "retry_policy retry_count retry_interval", retries],
    ["timeout", "timeout", seconds],
    ["at most", "concurrency rate_limit", limits],
    ["after a dead letter", "on_dead_head ordered", afterDeadLetter],
    ["leave the queue", "drain_within_s fallback", leavingQueue],
    ["labels", "labels", pairs],
    ["created", "created_at created_by", created],
    ["attempts", "stats.delivery_count stats.failure_count", attempts],
    ["last delivery", "stats.last_delivery", ago],
    ["last 24 hours", LAST_DAY, lastDay],
    ["open", "stats.open_count"],
    ["dead letters", "stats.dead_count"],
  ],
  async complete(client, row) {
    const by = asText(row["created_by"]);
    if (by?.startsWith("key_") !== true) return row;
    const name = (await listNames(client, KEY)).get(by);
    return name === undefined ? row : { ...row, created_by: `the key ${name}` };
  },
  actions: {
    list: {
      help: "list subscriptions by age",
      flags: [OF_TENANT, flag("--label <name[=value]>", "only with this label")],
    },
    show: { help: "show a subscription with its settings and statistics" },
    create: {
      help: "create a subscription and print it with its secret",
      takes: "[name]",
      flags: [
        FILE,
        ...flagsOf(SCHEMA, { ...EXCEPTIONS, name: null }, true),
        RETRY_DELAYS,
        ownFlag("--id <id>", "with this id; one that is there already is replaced"),
        OWNER,
        IDEMPOTENCY_KEY,
      ],
      method: ({ flags }) => (flags["id"] === undefined ? "POST" : "PUT"),
      path: ({ flags: { id } }) => (id === undefined ? PATH : placeOf({ path: PATH }, String(id))),
      body: withPolicy,
    },
    update: {
      help: "change the given settings and keep the rest",
      flags: [FILE, ...flagsOf(SCHEMA, { ...EXCEPTIONS, name: { help: "a new name" } }, false), RETRY_DELAYS, IF_MATCH],
      body: withPolicy,
    },
    pause: { help: "hold its deliveries until it is resumed", print: printStatus },
    resume: {
      help: "deliver again, held deliveries first",
      flags: [flag("--skip-held", "cancel the held deliveries instead", { field: "held", read: () => "skip" })],
      print: printStatus,
    },
    drain: {
      help: "send the waiting deliveries now, even while its target is in QUEUE mode",
      print: (row, { args }) =>
        print(`${args[0]}: trying ${countOf(Number(row["waiting"]), "delivery", "deliveries")}`),
    },
    test: {
      help: "send a test event and print the result",
      print: (row) => void (row["result"] !== undefined && printFields(TEST, row)),
      check: checkTest,
    },
    stats: { help: "show success rates and latencies of the last hour and day", method: "GET", print: printStatistics },
    history: { help: "list the changes of its status, latest first", columns: STATUS_CHANGES },
    recover: {
      help: "deliver again the events that it missed",
      flags: [
        flag("--since <time>", "events received since this time: RFC 3339, or 15m, 2h, 7d ago", {
          isRequired: true,
          read: readTime,
        }),
        flag("--until <time>", "and before this time", { read: readTime }),
        flag("--include <which>", "dead letters, events that it never got, or both", {
          choices: RECOVER_INCLUDES,
          default: "failed",
        }),
        flag("--plan", "only count them"),
      ],
      print: printPlainFacts,
    },
    delete: {
      help: "delete a subscription and cancel its open deliveries",
      print(row, { args }) {
        const cancelled = countOf(Number(row["cancelled_deliveries"]), "open delivery", "open deliveries");
        print(`${args[0]}: deleted, ${cancelled} cancelled`);
      },
    },
  },
  notes: `\`posthorn secrets\` rotates and shows secrets.

Examples:
  posthorn subscriptions create erp --to https://erp.example/hooks --events 'order.*' invoice.paid
  posthorn subscriptions create --file erp.json
  posthorn subscriptions create mail --kind email --events order.created \\
    --destination '{"to": "{{ data.email }}", "subject": "Your order", "text": "It is here."}'
  posthorn subscriptions create bus --kind amqp --tenants '*' --events '*' \\
    --destination '{"exchange": "dairy.events"}'
  posthorn subscriptions update erp --rate-limit 100 --header 'X-Team: blue'
  posthorn subscriptions resume erp --skip-held
  posthorn subscriptions recover erp --since 2h --include all`,
};

/** Fails when the destination did not accept the event, so that scripts can react. */
function checkTest({ result, hold_reason: reason }: Row): void {
  if (result === "success") return;
  const waits = result === undefined ? ` yet: it waits (${asText(reason) ?? "pending"})` : "";
  throw new CommandFailure(`The test event was not delivered${waits}.`);
}

function printStatistics(row: Row): void {
  const { last_1h: hour, last_24h: day } = row as { last_1h: Row; last_24h: Row & { series: Row[] } };
  printFields(STATISTICS, row);
  const series = day.series.filter(({ attempt_count: count }) => Number(count) > 0);
  print("");
  printRows(FIGURES, [{ ...hour, at: "last hour" }, { ...day, at: "last 24 hours" }, ...series]);
}

function printPlainFacts(row: Row): void {
  const names = Object.keys(row).filter((name) => ["string", "number"].includes(typeof row[name]));
  printFields(
    names.map((name) => [name.replaceAll("_", " "), name]),
    row,
  );
}
