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
  /** Declared resources that this command may not change. */
  skipped: readonly Left[];
  /** Declared resources that the gateway rejects. */
  rejected: readonly Left[];
}

interface Left {
  label: string;
  reason: string;
}

export interface Step {
  act: "create" | "change" | "delete";
  label: string;
  path: string;
  query: Readonly<Record<string, string>>;
  body?: Row;
  /** The version that the plan was made for; undefined for a new resource. */
  etag?: string | undefined;
  fields?: readonly FieldChange[];
  areSecretsChanged?: boolean;
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
  detail?: string;
  code?: string;
}

type Planned = { step: Step } | { skipped: string } | { rejected: string } | "unchanged";

/** Fields that a plan never shows: nobody can change them, or another field shows that secrets change. */
const OWN_FIELDS = new Set(["created_by", "secrets", "tenant_id"]);
const MANAGED: Readonly<Record<string, string>> = {
  config: "the gateway's own posthorn.yaml declares it; change it there and reload with SIGHUP",
  contact: "it belongs to a contact of its tenant; change `contacts` of the tenant",
};

export async function makePlan(client: ApiClient, file: DeclaredFile, isPruning: boolean): Promise<Plan> {
  const steps: Step[] = [];
  const deletions: Step[] = [];
  const skipped: Left[] = [];
  const rejected: Left[] = [];
  let unchanged = 0;
  /** Names that this plan creates: the gateway cannot check resources that name them before they exist. */
  const made = new Set<string>();

  for (const kind of DECLARED_KINDS) {
    const declared = file.lists[kind.list];
    if (declared === undefined) continue;
    const known = await listKnown(client, kind);
    for (const one of inOrder(declared)) {
      const label = labelOf(kind, one);
      const planned = await planOne(client, kind, one, { known: known.get(kind.keyOf(one)), label, made });
      if (planned === "unchanged") unchanged += 1;
      else if ("skipped" in planned) skipped.push({ label, reason: planned.skipped });
      else if ("rejected" in planned) rejected.push({ label, reason: planned.rejected });
      else {
        steps.push(planned.step);
        if (planned.step.act === "create") made.add(nameOf(one));
      }
    }
    if (isPruning) deletions.unshift(...planDeletions(kind, declared, known));
  }
  return { steps: [...steps, ...deletions], unchanged, skipped, rejected };
}

/** A fallback comes before the subscriptions that name it. */
function inOrder(declared: readonly Row[]): readonly Row[] {
  const hasNone = ({ fallback }: Row) => fallback === undefined || fallback === null;
  return [...declared.filter(hasNone), ...declared.filter((one) => !hasNone(one))];
}

async function listKnown(client: ApiClient, kind: DeclaredKind): Promise<ReadonlyMap<string, Row>> {
  const known = new Map<string, Row>();
  for (const row of await listAll(client, pathOf(kind))) {
    if (kind.isOther?.(row) === true && kind.list !== "tenants") continue;
    const key = kind.keyOf(row);
    if (known.has(key)) {
      throw new CommandFailure(
        `The gateway has several ${nounOf(kind)}s called ${key}; this command finds them by name. Rename or delete all but one.`,
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
  const body = bodyOf(kind, { ...declared, ...Object.fromEntries(kept.map((field) => [field, known?.[field]])) });
  const path = placeOf(kind, declared, known);
  const query = known === undefined ? {} : (kind.queryOf?.(known) ?? {});
  // Read the version first: if somebody else changes the resource later, our change fails instead of undoing theirs.
  const etag = known === undefined ? undefined : (await client.get(path, query)).etag;
  const act = known === undefined ? "create" : "change";
  const step: Step = { act, label, path, query, body, etag };
  if ([declared["target"], declared["fallback"]].some((name) => typeof name === "string" && made.has(name))) {
    const note = "the differences are known only after the resources that it names are created";
    return { step: { ...step, note: act === "create" ? undefined : note } };
  }
  const answer = await client.send("POST", `${path}/plan`, { json: body, expected: [400, 403, 409, 413, 422] });
  const { changes, secrets_changed: areSecretsChanged, detail, code } = answer.read() as PlanAnswer;
  if (answer.status >= 400) return { rejected: `${detail} (${code})` };
  if (act === "create") return { step };
  const fields = changes.filter(
    ({ field, before, after }) => !OWN_FIELDS.has(field) && !isSameValue(kind, field, before, after),
  );
  return fields.length === 0 && !areSecretsChanged ? "unchanged" : { step: { ...step, fields, areSecretsChanged } };
}

/** The id of a tenant is in the path, not in the body. */
function bodyOf(kind: DeclaredKind, body: Row): Row {
  if (kind.list !== "tenants") return body;
  const { id: _, ...settings } = body;
  return settings;
}

/** Deletes only kinds that the file lists, and nothing that is managed elsewhere. */
function planDeletions(kind: DeclaredKind, declared: readonly Row[], known: ReadonlyMap<string, Row>): Step[] {
  const wanted = new Set(declared.map((one) => kind.keyOf(one)));
  return [...known]
    .filter(([key, row]) => !wanted.has(key) && MANAGED[String(row["managed_by"])] === undefined)
    .filter(([, row]) => kind.isOther?.(row) !== true)
    .map(([, row]) => ({
      act: "delete",
      label: labelOf(kind, row),
      path: placeOf(kind, row, row),
      query: kind.queryOf?.(row) ?? {},
    }));
}

interface DeclaredKind {
  readonly list: DeclaredList;
  readonly fields: TProperties;
  /** Identifies one in the file and at the gateway. */
  keyOf(one: Row): string;
  /** The last part of its path, when that is not its name. */
  pathKeyOf?(one: Row, known: Row | undefined): string;
  /** Whether this item of the gateway's list cannot be declared in a file. */
  isOther?(known: Row): boolean;
  /** Fields that keep their value at the gateway when the file does not name them. */
  readonly kept?: readonly string[];
  /** The query parameters of the request that deletes it. */
  queryOf?(known: Row): Readonly<Record<string, string>>;
}

const tenantOf = ({ tenant_id: tenantId, tenants = null }: Row) =>
  asText(tenantId) ?? (tenants === null ? DEFAULT_TENANT : GATEWAY_TENANT);
const nameOf = ({ name }: Row) => asText(name) ?? "";
const idOf = ({ id }: Row) => asText(id) ?? "";
const nameInTenant = (one: Row) => `${tenantOf(one)}/${nameOf(one)}`;

/** In the order in which they are written: a resource comes before those that name it. */
const DECLARED_KINDS: readonly DeclaredKind[] = [
  {
    list: "tenants",
    fields: TenantInput.properties,
    keyOf: idOf,
    pathKeyOf: idOf,
    // `default` always exists, and `_gateway` belongs to the gateway itself.
    isOther: (one) => idOf(one) === DEFAULT_TENANT || idOf(one).startsWith("_"),
  },
  { list: "event_types", fields: EventTypeInput.properties, keyOf: nameOf },
  {
    list: "targets",
    fields: TargetInput.properties,
    keyOf: nameInTenant,
    isOther: ({ shared }) => shared !== true,
    queryOf: (known) => ({ tenant_id: tenantOf(known) }),
  },
  {
    list: "subscriptions",
    fields: SUBSCRIPTION_FIELDS,
    keyOf: nameInTenant,
    // The id that a gateway would give the subscription if this were its own file.
    pathKeyOf: (one, known) => asText(known?.["id"]) ?? stableId("sub", `${tenantOf(one)}\0${nameOf(one)}`),
  },
  { list: "sources", fields: SourceInput.properties, keyOf: nameOf, kept: ["status"] },
];

const pathOf = ({ list }: DeclaredKind) => `/api/v1/${list.replace("_", "-")}`;
const nounOf = ({ list }: DeclaredKind) => list.replace("_", " ").replace(/s$/, "");

function placeOf(kind: DeclaredKind, one: Row, known: Row | undefined): string {
  return `${pathOf(kind)}/${encodeURIComponent(kind.pathKeyOf?.(one, known) ?? nameOf(one))}`;
}

/** The label in messages; it names the tenant only when that is not `default`. */
function labelOf(kind: DeclaredKind, one: Row): string {
  return `${nounOf(kind)} ${kind.keyOf(one).replace(`${DEFAULT_TENANT}/`, "")}`;
}

/** A field that is not given equals its default. */
function isSameValue({ fields }: DeclaredKind, field: string, one: unknown, other: unknown): boolean {
  const { [field]: usual = null } = fillIn(fields, {}) as Row;
  return JSON.stringify(one ?? usual) === JSON.stringify(other ?? usual);
}
