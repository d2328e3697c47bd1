import type { TProperties } from "typebox";
import type { DeclaredList } from "../../config/load.ts";
import { SUBSCRIPTION_FIELDS } from "../../destinations/subscription-schema.ts";
import { DEFAULT_TENANT, GATEWAY_TENANT } from "../../model/event.ts";
import { EventTypeInput } from "../../model/event-type.ts";
import { stableId } from "../../model/ids.ts";
import { fillIn } from "../../model/shape.ts";
import { SourceInput } from "../../model/source.ts";
import { TargetInput } from "../../model/target.ts";
import { TenantInput } from "../../model/tenant.ts";
import { asText, type Row } from "../resources/fields.ts";

/** How a declared thing is found at a gateway, and written there. */
export interface DeclaredKind {
  readonly list: DeclaredList;
  readonly noun: string;
  readonly path: string;
  /** The fields that may be declared, with their defaults. */
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
export const DECLARED_KINDS: readonly DeclaredKind[] = [
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
export function labelOf(kind: DeclaredKind, thing: Row): string {
  return `${kind.noun} ${kind.keyOf(thing).replace(`${DEFAULT_TENANT}/`, "")}`;
}

/** A field that is not given equals its default. */
export function isSameValue({ fields }: DeclaredKind, field: string, one: unknown, other: unknown): boolean {
  const { [field]: usual = null } = fillIn(fields, {}) as Row;
  return JSON.stringify(one ?? usual) === JSON.stringify(other ?? usual);
}
