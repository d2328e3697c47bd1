import type { TProperties } from "typebox";
import type { DeclaredList } from "../../config/load.ts";
import { SUBSCRIPTION_FIELDS } from "../../deliver/senders/subscription-schema.ts";
import { DEFAULT_TENANT } from "../../domain/event.ts";
import { EventTypeInput } from "../../domain/event-type.ts";
import { stableId } from "../../domain/ids.ts";
import { fillIn } from "../../domain/shape.ts";
import { SourceInput } from "../../domain/source.ts";
import { TargetInput } from "../../domain/target.ts";
import { TenantInput } from "../../domain/tenant.ts";
import { asText, type Row } from "../resources/fields.ts";

/** How what a file declares is found at a gateway, and put there. */
export interface DeclaredKind {
  readonly list: DeclaredList;
  readonly noun: string;
  readonly path: string;
  /** What may be declared of it, with what holds when nothing is said. */
  readonly fields: TProperties;
  /** What tells one from others, in the file and at the gateway. */
  keyOf(thing: Row): string;
  /** Under which it is put. */
  pathKeyOf(thing: Row, known: Row | undefined): string;
  /** What is in the gateway's list beside those that can be declared. */
  isOther?(known: Row): boolean;
  /** What of it the file leaves to others when it says nothing of it. */
  readonly kept?: readonly string[];
  /** The query that one is deleted with. */
  queryOf?(known: Row): Readonly<Record<string, string>>;
}

const tenantOf = ({ tenant_id: tenantId }: Row) => asText(tenantId) ?? DEFAULT_TENANT;
const nameInTenant = (thing: Row) => `${tenantOf(thing)}/${asText(thing["name"])}`;
const nameOf = ({ name }: Row) => asText(name) ?? "";

/** In the order in which they are put: what is named by others comes before them. */
export const DECLARED_KINDS: readonly DeclaredKind[] = [
  {
    list: "tenants",
    noun: "tenant",
    path: "/api/v1/tenants",
    fields: TenantInput.properties,
    keyOf: ({ id }) => asText(id) ?? "",
    pathKeyOf: ({ id }) => asText(id) ?? "",
    // Those that were never configured came with the first thing that names them, and `default` is always there.
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
    // The one that a gateway with this file as its own would give it.
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

/** As people are told of it: the tenant only where it is not `default`. */
export function labelOf(kind: DeclaredKind, thing: Row): string {
  return `${kind.noun} ${kind.keyOf(thing).replace(`${DEFAULT_TENANT}/`, "")}`;
}

/** Nothing that was said is the same as what holds then. */
export function isSameValue({ fields }: DeclaredKind, field: string, one: unknown, other: unknown): boolean {
  const { [field]: usual = null } = fillIn(fields, {}) as Row;
  return JSON.stringify(one ?? usual) === JSON.stringify(other ?? usual);
}
