import type { TProperties } from "typebox";
import type { DeclaredFile, DeclaredList } from "../../config/load.ts";
import { SUBSCRIPTION_FIELDS } from "../../destinations/kinds.ts";
import { EventTypeInput } from "../../model/event-type.ts";
import { DEFAULT_TENANT, GATEWAY_TENANT } from "../../model/event.ts";
import { stableId } from "../../model/ids.ts";
import { fillIn } from "../../model/shape.ts";
import { SourceInput } from "../../model/source.ts";
import { TargetInput } from "../../model/target.ts";
import { TenantInput } from "../../model/tenant.ts";
import type { ApiClient } from "../api-client.ts";
import { CommandFailure } from "../failure.ts";
import { asText, type Row } from "../resources/fields.ts";
import { listAll } from "../resources/resource.ts";

export interface Plan {
  steps: readonly Step[];
  unchanged: number;
  /** Declared things that this command may not change, with the reason. */
  skipped: readonly { label: string; reason: string }[];
  /** Declared things that the gateway rejects, with its message. */
  refused: readonly { label: string; reason: string }[];
}

export interface Step {
  act: "create" | "change" | "delete";
  label: string;
  path: string;
  query: Readonly<Record<string, string>>;
  body: Row | undefined;
  /** The version that the plan was made for; undefined for a new thing. */
  etag: string | undefined;
  fields: readonly FieldChange[];
  areSecretsChanged: boolean;
  note?: string | undefined;
}

export interface FieldChange {
  field: string;
  before: unknown;
  after: unknown;
}

interface PlanAnswer {
  changes: readonly FieldChange[];
  secrets_changed: boolean;
}

type Planned = { step: Step } | { skipped: string } | { refused: string } | "unchanged";

/** Fields that a plan never shows: nobody can change them, or another field shows that secrets change. */
const OWN_FIELDS = new Set(["created_by", "secrets", "tenant_id"]);
const MANAGED: Readonly<Record<string, string>> = {
  config: "the gateway's own posthorn.yaml declares it; change it there and reload with SIGHUP",
  contact: "it belongs to a contact of its tenant; change `contacts` of the tenant",
};

export async function makePlan(client: ApiClient, file: DeclaredFile, isPruning: boolean): Promise<Plan> {
  const steps: Step[] = [];
  const deletions: Step[] = [];
  const skipped: { label: string; reason: string }[] = [];
  const refused: { label: string; reason: string }[] = [];
  let unchanged = 0;
  /** Names that this plan creates: the gateway cannot check things that name them before they exist. */
  const made = new Set<string>();

  for (const kind of DECLARED_KINDS) {
    const declared = file.lists[kind.list];
    if (declared === undefined) continue;
    const known = await listKnown(client, kind);
    for (const thing of inOrder(declared)) {
      const label = labelOf(kind, thing);
      const planned = await planOne(client, kind, thing, { known: known.get(kind.keyOf(thing)), label, made });
      if (planned === "unchanged") unchanged += 1;
      else if ("skipped" in planned) skipped.push({ label, reason: planned.skipped });
      else if ("refused" in planned) refused.push({ label, reason: planned.refused });
      else steps.push(planned.step);
      if (planned !== "unchanged" && "step" in planned && planned.step.act === "create") {
        made.add(String(thing["name"]));
      }
    }
    if (isPruning) deletions.unshift(...planDeletions(kind, declared, known));
  }
  return { steps: [...steps, ...deletions], unchanged, skipped, refused };
}

/** A fallback comes before the subscriptions that name it. */
function inOrder(things: readonly Row[]): readonly Row[] {
  const hasNone = ({ fallback }: Row) => fallback === undefined || fallback === null;
  return [...things.filter(hasNone), ...things.filter((thing) => !hasNone(thing))];
}

async function listKnown(client: ApiClient, kind: DeclaredKind): Promise<ReadonlyMap<string, Row>> {
  const known = new Map<string, Row>();
  for (const row of await listAll(client, kind.path)) {
    if (kind.isOther?.(row) === true && kind.list !== "tenants") continue;
    const key = kind.keyOf(row);
    if (known.has(key)) {
      throw new CommandFailure(
        `The gateway has several ${kind.noun}s called ${key}; this command finds them by name. Rename or delete all but one.`,
      );
    }
    known.set(key, row);
  }
  return known;
}

async function planOne(
  client: ApiClient,
  kind: DeclaredKind,
  declared: Row,
  { known, label, made }: { known: Row | undefined; label: string; made: ReadonlySet<string> },
): Promise<Planned> {
  const reason = MANAGED[String(known?.["managed_by"])];
  if (reason !== undefined) return { skipped: reason };
  const kept = (kind.kept ?? []).filter((field) => declared[field] === undefined && known !== undefined);
  const body = { ...declared, ...Object.fromEntries(kept.map((field) => [field, known?.[field]])) };
  const path = `${kind.path}/${encodeURIComponent(kind.pathKeyOf(declared, known))}`;
  const query = known === undefined ? {} : (kind.queryOf?.(known) ?? {});
  // Read the version first: if somebody else changes the thing later, our change fails instead of undoing theirs.
  const etag = known === undefined ? undefined : (await client.get(path, query)).etag;
  const sent = bodyOf(kind, body);
  const step = { label, path, query, body: sent, etag };
  const isNew = known === undefined;
  if ([declared["target"], declared["fallback"]].some((name) => typeof name === "string" && made.has(name))) {
    const note = isNew ? undefined : "the differences are known only after the things that it names are created";
    return { step: { ...step, act: isNew ? "create" : "change", fields: [], areSecretsChanged: false, note } };
  }
  const answer = await client.send("POST", `${path}/plan`, { json: sent, expected: [400, 403, 409, 413, 422] });
  const planned = answer.read() as PlanAnswer & { detail?: string; code?: string };
  if (answer.status >= 400) return { refused: `${planned.detail} (${planned.code})` };
  if (isNew) return { step: { ...step, act: "create", fields: [], areSecretsChanged: false } };
  const fields = planned.changes.filter(
    ({ field, before, after }) => !OWN_FIELDS.has(field) && !isSameValue(kind, field, before, after),
  );
  if (fields.length === 0 && !planned.secrets_changed) return "unchanged";
  return { step: { ...step, act: "change", fields, areSecretsChanged: planned.secrets_changed } };
}

/** The id of a tenant is in the path, not in the body. */
function bodyOf(kind: DeclaredKind, body: Row): Row {
  if (kind.list !== "tenants") return body;
  const { id: _, ...settings } = body;
  return settings;
}

/** Deletes only kinds that the file lists, and nothing that is managed elsewhere. */
function planDeletions(kind: DeclaredKind, declared: readonly Row[], known: ReadonlyMap<string, Row>): Step[] {
  const wanted = new Set(declared.map((thing) => kind.keyOf(thing)));
  return [...known]
    .filter(([key, row]) => !wanted.has(key) && MANAGED[String(row["managed_by"])] === undefined)
    .filter(([, row]) => kind.isOther?.(row) !== true)
    .map(([, row]) => ({
      act: "delete" as const,
      label: labelOf(kind, row),
      path: `${kind.path}/${encodeURIComponent(kind.pathKeyOf(row, row))}`,
      query: kind.queryOf?.(row) ?? {},
      body: undefined,
      etag: undefined,
      fields: [],
      areSecretsChanged: false,
    }));
}

interface DeclaredKind {
  readonly list: DeclaredList;
  readonly noun: string;
  readonly path: string;
  readonly fields: TProperties;
  /** The key that identifies a thing in the file and at the gateway. */
  keyOf(thing: Row): string;
  /** The last part of the path that the thing is put to. */
  pathKeyOf(thing: Row, known: Row | undefined): string;
  /** Whether this item of the gateway's list cannot be declared in a file. */
  isOther?(known: Row): boolean;
  /** Fields that keep their value at the gateway when the file does not name them. */
  readonly kept?: readonly string[];
  /** The query parameters of the request that deletes it. */
  queryOf?(known: Row): Readonly<Record<string, string>>;
}

const tenantOf = ({ tenant_id: tenantId, tenants = null }: Row) =>
  asText(tenantId) ?? (tenants === null ? DEFAULT_TENANT : GATEWAY_TENANT);
const nameInTenant = (thing: Row) => `${tenantOf(thing)}/${asText(thing["name"])}`;
const nameOf = ({ name }: Row) => asText(name) ?? "";

/** In the order in which they are written: a thing comes before the things that name it. */
const DECLARED_KINDS: readonly DeclaredKind[] = [
  {
    list: "tenants",
    noun: "tenant",
    path: "/api/v1/tenants",
    fields: TenantInput.properties,
    keyOf: ({ id }) => asText(id) ?? "",
    pathKeyOf: ({ id }) => asText(id) ?? "",
    // `default` always exists, and `_gateway` belongs to the gateway itself.
    isOther: ({ id }) => id === DEFAULT_TENANT || asText(id)?.startsWith("_") === true,
  },
  {
    list: "event_types",
    noun: "event type",
    path: "/api/v1/event-types",
    fields: EventTypeInput.properties,
    keyOf: nameOf,
    pathKeyOf: nameOf,
  },
  {
    list: "targets",
    noun: "target",
    path: "/api/v1/targets",
    fields: TargetInput.properties,
    keyOf: nameInTenant,
    pathKeyOf: nameOf,
    isOther: ({ shared }) => shared !== true,
    queryOf: (known) => ({ tenant_id: tenantOf(known) }),
  },
  {
    list: "subscriptions",
    noun: "subscription",
    path: "/api/v1/subscriptions",
    fields: SUBSCRIPTION_FIELDS,
    keyOf: nameInTenant,
    // The id that a gateway would give the subscription if this were its own file.
    pathKeyOf: (thing, known) =>
      asText(known?.["id"]) ?? stableId("sub", `${tenantOf(thing)}\0${asText(thing["name"])}`),
  },
  {
    list: "sources",
    noun: "source",
    path: "/api/v1/sources",
    fields: SourceInput.properties,
    keyOf: nameOf,
    pathKeyOf: nameOf,
    kept: ["status"],
  },
];

/** The label in messages; it names the tenant only when that is not `default`. */
function labelOf(kind: DeclaredKind, thing: Row): string {
  return `${kind.noun} ${kind.keyOf(thing).replace(`${DEFAULT_TENANT}/`, "")}`;
}

/** A field that is not given equals its default. */
function isSameValue({ fields }: DeclaredKind, field: string, one: unknown, other: unknown): boolean {
  const { [field]: usual = null } = fillIn(fields, {}) as Row;
  return JSON.stringify(one ?? usual) === JSON.stringify(other ?? usual);
}
