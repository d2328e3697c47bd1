import type { ApiClient } from "../api-client.ts";
import { connect } from "../connect.ts";
import { printDocument } from "../output.ts";
import { ago, asText, firstOf, isObject, type Field, type Row } from "./fields.ts";
import { flag, ownFlag } from "./flags.ts";
import { printList } from "./list.ts";
import { type Call, KEY, listNames, type Named, type SingleAction, SUBSCRIPTION } from "./resource.ts";

const PATH = "/api/v1/audit";

const COLUMNS: readonly Field[] = [
  ["SEQ", "seq"],
  ["WHEN", "at", ago],
  ["WHO", "who actor", firstOf],
  ["WHAT", "act"],
  ["OF", "of id", firstOf],
  ["TENANT", "tenant_id"],
  ["CHANGED", "before after details", describeChanges],
];

export const ACTION: SingleAction = {
  columns: COLUMNS,
  flags: [
    flag("--actor <actor>", "key:ID, config, gateway or local:USER"),
    flag("--act <act>", "such as subscription.update"),
    flag("--kind <kind>", "only changes of this kind of resource: subscription, source, key …"),
    flag("--id <id>", "only changes of the resource with this id; needs --kind"),
    flag("--tenant <tenant>", "only changes in this tenant", { field: "tenant_id" }),
    flag("--since <time>", "at this time or later (RFC 3339)"),
    flag("--until <time>", "before this time (RFC 3339)"),
    ownFlag("--export", "print all entries as NDJSON, for verify-audit"),
  ],
  run: listAudit,
  notes: `Examples:
  posthorn audit --kind subscription --since 2026-11-16T00:00:00Z
  posthorn audit --actor gateway
  posthorn audit --export > audit.ndjson`,
};

async function listAudit(call: Call): Promise<void> {
  const client = await connect(call.flags);
  if (call.flags["export"] === true) return printDocument((await client.get(`${PATH}/export`)).text);
  await printList(client, PATH, call, COLUMNS, {
    noun: "audit entries",
    expendable: ["TENANT", "CHANGED"],
    complete: (rows) => addNames(client, rows),
  });
}

/** Adds the names of keys and subscriptions; those that were deleted keep their ids. */
async function addNames(client: ApiClient, rows: readonly Row[]): Promise<readonly Row[]> {
  const loadNames = async (of: Named): Promise<ReadonlyMap<string, string>> => {
    const isNamed = rows.some((row) => [keyOf(row), row["id"]].some((id) => asText(id)?.startsWith(of.prefix ?? "")));
    return isNamed ? listNames(client, of) : new Map();
  };
  const [keys, subscriptions] = [await loadNames(KEY), await loadNames(SUBSCRIPTION)];
  return rows.map((row) => {
    const id = asText(row["id"]) ?? "";
    const key = keys.get(keyOf(row) ?? "");
    return { ...row, who: key === undefined ? null : `key ${key}`, of: subscriptions.get(id) ?? keys.get(id) ?? null };
  });
}

function keyOf({ actor }: Row): string | undefined {
  return /^key:(.+)$/.exec(asText(actor) ?? "")?.[1];
}

/** The names and new values, in one cell; `--json` shows everything. */
function describeChanges([before, after, details]: readonly unknown[]): string {
  const texts = [];
  if (isObject(before) && isObject(after)) {
    texts.push(Object.keys(after).map((name) => `${name}: ${textOf(before[name])} → ${textOf(after[name])}`));
  }
  if (isObject(details)) texts.push(Object.entries(details).map(([name, value]) => `${name}: ${textOf(value)}`));
  return texts.flat().join(", ");
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
