import { TenantSettings } from "../../domain/tenant.ts";
import { formatBytes } from "../output.ts";
import { ago, type Field, type Format } from "./fields.ts";
import { FILE, IDEMPOTENCY_KEY, IF_MATCH } from "./flags.ts";
import type { Resource } from "./resource.ts";
import { flagsOf, type Exceptions } from "./schema-flags.ts";

const EXCEPTIONS: Exceptions = {
  contact_email: { flag: "--email <address>" },
  quotas: { prefix: "max" },
  retention: { prefix: "retention" },
};

const ofQuota =
  (format: (count: number) => string = String): Format =>
  ([used, quota]) =>
    typeof quota === "number" ? `${format(Number(used))} of ${format(quota)}` : format(Number(used));

const USE: Readonly<Record<"subscriptions" | "open" | "stored", readonly [string, Format]>> = {
  subscriptions: ["usage.subscriptions quotas.subscriptions", ofQuota()],
  open: ["usage.open_deliveries quotas.open_deliveries", ofQuota()],
  stored: ["usage.stored_bytes quotas.stored_bytes", ofQuota(formatBytes)],
};

const KEPT: Field = [
  "events kept",
  "retention.days",
  ([days]) => (days === null ? "as the gateway keeps them" : days === 0 ? "for ever" : `${String(days)} days`),
];

export const RESOURCE: Resource = {
  path: "/api/v1/tenants",
  key: "id",
  columns: [
    ["TENANT", "id"],
    ["NAME", "name"],
    ["STATUS", "status"],
    ["SUBSCRIPTIONS", ...USE.subscriptions],
    ["OPEN", ...USE.open],
    ["STORED", ...USE.stored],
    ["PER MINUTE", "quotas.events_per_minute"],
    ["CREATED", "created_at", ago],
  ],
  facts: [
    ["tenant", "id"],
    ["contact", "contact_email"],
    ["subscriptions", ...USE.subscriptions],
    ["open deliveries", ...USE.open],
    ["stored", ...USE.stored],
    [
      "events per minute",
      "quotas.events_per_minute",
      ([most]) => (most === null ? undefined : `at most ${String(most)}`),
    ],
    KEPT,
  ],
  acts: {
    list: { help: "list tenants by id, with what they use" },
    create: {
      help: "make a tenant",
      flags: [FILE, ...flagsOf(TenantSettings, EXCEPTIONS, true), IDEMPOTENCY_KEY],
      notes: `A tenant need not be made: it comes by itself, without quotas, with the first thing that names it.

Examples:
  posthorn tenants create acme --name 'Acme Ltd' --email ops@acme.example
  posthorn tenants create trial --max-subscriptions 3 --max-events-per-minute 600`,
    },
    update: {
      help: "change what is given and keep the rest; none takes a quota away",
      flags: [FILE, ...flagsOf(TenantSettings, EXCEPTIONS, false), IF_MATCH],
    },
    show: { help: "show a tenant with its quotas and what it uses of them" },
    delete: { help: "delete a tenant that has no subscriptions and no live keys" },
  },
};
