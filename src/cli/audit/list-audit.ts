import { connect, type ClientFlags } from "../connect.ts";
import { printDocument } from "../output.ts";
import type { ApiClient } from "../api-client.ts";
import { ago, asText, firstOf, type Field, type Row } from "../resources/fields.ts";
import { KEY, listNames, type Named, SUBSCRIPTION } from "../resources/resource.ts";
import { printList } from "../resources/list.ts";

export interface AuditFlags extends ClientFlags {
  actor?: string;
  act?: string;
  kind?: string;
  id?: string;
  tenant?: string;
  since?: string;
  until?: string;
  limit: string;
  cursor?: string;
  export?: boolean;
}

const COLUMNS: readonly Field[] = [
  ["SEQ", "seq"],
  ["WHEN", "at", ago],
  ["WHO", "who actor", firstOf],
  ["WHAT", "act"],
  ["OF", "of id", firstOf],
  ["TENANT", "tenant_id"],
  ["CHANGED", "before after details", ([before, after, details]) => describe(before, after, details)],
];

const EXPENDABLE = ["TENANT", "CHANGED"];

export async function runAudit(flags: AuditFlags): Promise<void> {
  const client = await connect(flags);
  if (flags.export === true) return printDocument((await client.get("/api/v1/audit/export", {})).text);
  const { actor, act, kind, id, tenant: tenant_id, since, until, limit, cursor } = flags;
  const given = Object.entries({ actor, act, kind, id, tenant_id, since, until, limit, cursor });
  const query = Object.fromEntries(given.filter((entry): entry is [string, string] => entry[1] !== undefined));
  await printList(client, "/api/v1/audit", { query, flags: { ...flags } }, COLUMNS, {
    noun: "audit entries",
    expendable: EXPENDABLE,
    complete: (rows) => addNames(client, rows),
  });
}

/** Adds the names of keys and subscriptions; those that were deleted keep their ids. */
async function addNames(client: ApiClient, rows: readonly Row[]): Promise<readonly Row[]> {
  const learn = async (of: Named): Promise<ReadonlyMap<string, string>> => {
    const isNamed = rows.some((row) => [keyOf(row), row["id"]].some((id) => asText(id)?.startsWith(of.prefix ?? "")));
    return isNamed ? listNames(client, of) : new Map();
  };
  const [keys, subscriptions] = [await learn(KEY), await learn(SUBSCRIPTION)];
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
function describe(before: unknown, after: unknown, details: unknown): string {
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

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
