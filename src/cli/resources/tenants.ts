import { TenantSettings } from "../../model/tenant.ts";
import type { ApiAnswer, ApiClient } from "../api-client.ts";
import { formatBytes, note } from "../output.ts";
import { ago, asText, printFields, type Field, type Format, type Row } from "./fields.ts";
import { FILE, flag, IDEMPOTENCY_KEY, IF_MATCH } from "./flags.ts";
import { followJob, WAIT } from "./replays.ts";
import { placeOf, type Resource } from "./resource.ts";
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

const kept: Format = ([days]) =>
  days === null ? "as the gateway keeps them" : days === 0 ? "for ever" : `${String(days)} days`;
const atMost: Format = ([most]) => (most === null ? undefined : `at most ${String(most)}`);

const PATH = "/api/v1/tenants";

export const RESOURCE: Resource = {
  path: PATH,
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
    ["events per minute", "quotas.events_per_minute", atMost],
    ["events kept", "retention.days", kept],
  ],
  actions: {
    list: { help: "list tenants by id, with their usage" },
    create: {
      help: "create a tenant",
      flags: [FILE, ...flagsOf(TenantSettings, EXCEPTIONS, true), IDEMPOTENCY_KEY],
      notes: `Tenants are created automatically, without quotas, by the first resource that names them.

Examples:
  posthorn tenants create acme --name 'Acme Ltd' --email ops@acme.example
  posthorn tenants create trial --max-subscriptions 3 --max-events-per-minute 600`,
    },
    update: {
      help: "change the given settings and keep the rest; none removes a quota",
      flags: [FILE, ...flagsOf(TenantSettings, EXCEPTIONS, false), IF_MATCH],
    },
    show: { help: "show a tenant with its quotas and its usage" },
    delete: { help: "delete a tenant that has no subscriptions and no live keys" },
    erase: {
      help: "erase all data of a tenant permanently, as a job of the gateway",
      flags: [flag("--confirm <id>", "the id of the tenant once more; nothing is erased without it"), WAIT],
      follow,
      body: ({ body }) => ({ ...body }),
      print: printErasure,
      notes: `Run it again to see the progress. Erased data cannot be restored.

Examples:
  posthorn tenants erase acme --confirm acme --wait`,
    },
  },
};

const ERASURE: readonly Field[] = [
  ["tenant", "tenant_id"],
  ["status", "status"],
  ["stage", "stage", ([stage]) => (stage === "done" ? undefined : asText(stage))],
  ["events", "events total", ([events, total]) => `${asText(events)} of ${asText(total)}`],
  ["deliveries", "deliveries"],
  ["bodies", "bytes", ([bytes]) => formatBytes(Number(bytes))],
  ["requests", "requests"],
  ["configuration", "records"],
  ["audit entries", "audit_entries"],
  ["started", "started_at", ago],
  ["ended", "completed_at", ago],
];

function printErasure(row: Row): void {
  printFields(ERASURE, row);
  const id = asText(row["tenant_id"]);
  if (row["status"] === "running") note(`posthorn tenants erase ${id} --confirm ${id} --wait shows its progress`);
}

function follow(client: ApiClient, first: ApiAnswer): Promise<ApiAnswer> {
  return followJob(client, first, {
    path: ({ tenant_id: id }) => placeOf({ path: PATH }, asText(id), "/erase"),
    doneOf: ({ events }) => Number(events),
    again: ({ tenant_id: id }) => `posthorn tenants erase ${asText(id)} --confirm ${asText(id)} --wait`,
  });
}
