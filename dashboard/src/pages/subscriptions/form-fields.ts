import type { Session } from "../../api/types.ts";
import { draftOf, type Draft } from "../../forms/draft.ts";
import { fieldsOf, type Field } from "../../forms/fields.ts";
import { resolve, type Schemas } from "../../forms/json-schema.ts";

/** Groups of what all kinds share, in the order of the form; what is in none of them comes last. */
const WHAT = ["name", "description", "tenant_id", "tenants", "labels"];
const WHICH = ["events", "sources", "event_filter"];
const TRIES = [
  "retry_policy",
  "retry_count",
  "retry_interval",
  "timeout",
  "rate_limit",
  "concurrency",
  "ordered",
  "on_dead_head",
  "max_age_s",
];
/** With controls of their own. */
const OWN = ["kind", "destination"];
/** Changed in another way, or never. */
const FIXED = ["tenant_id", "kind", "status", "secret"];

export interface KindFields {
  name: string;
  isFlat: boolean;
  /** Fields that only operators may set. */
  operatorSettings: readonly string[];
  fields: readonly Field[];
}

export interface SubscriptionFields {
  /** Everything that may be sent. */
  all: readonly Field[];
  what: readonly Field[];
  which: readonly Field[];
  tries: readonly Field[];
  rest: readonly Field[];
  kinds: readonly KindFields[];
  /** Of a subscription that names none. */
  usualKind: string;
}

export function subscriptionFields(schemas: Schemas, isNew: boolean): SubscriptionFields {
  const schema = resolve({ $ref: "#/components/schemas/SubscriptionInput" }, schemas);
  const kinds = Object.entries(schema["x-kinds"] ?? {}).map(([name, given]): KindFields => {
    const kind = resolve(given, schemas);
    return {
      name,
      isFlat: kind["x-flat"] === true,
      operatorSettings: kind["x-operator-settings"] ?? [],
      fields: fieldsOf(kind, schemas),
    };
  });
  const all = fieldsOf(schema, schemas).filter(({ name }) => isNew || !FIXED.includes(name));
  const flat = new Set(kinds.filter(({ isFlat }) => isFlat).flatMap(({ fields }) => fields.map(({ name }) => name)));
  const among = (names: readonly string[]) => names.flatMap((name) => all.filter((field) => field.name === name));
  const placed = new Set([...WHAT, ...WHICH, ...TRIES, ...OWN, ...flat]);
  return {
    all,
    what: among(WHAT),
    which: among(WHICH),
    tries: among(TRIES),
    rest: all.filter(({ name }) => !placed.has(name)),
    kinds,
    usualKind: String(schema.properties?.["kind"]?.default),
  };
}

/** Nobody is offered what the gateway would reject. */
export function kindsFor(
  kinds: readonly KindFields[],
  session: Pick<Session, "tenant_id" | "destination_kinds">,
): readonly KindFields[] {
  const allowed = kinds.filter(({ name }) => session.destination_kinds.includes(name));
  if (session.tenant_id === null) return allowed;
  return allowed.map((kind) => ({
    ...kind,
    fields: kind.fields.filter(({ name }) => !kind.operatorSettings.includes(name)),
  }));
}

/** What the form begins with: what is not set is not there, in the destination either. */
export function toDraft(subscription: object, { all, kinds }: SubscriptionFields): Draft {
  const draft = draftOf(subscription, all);
  const { kind, destination } = subscription as { kind?: string; destination?: object };
  const known = kinds.find(({ name }) => name === kind);
  if (destination === undefined || known === undefined) return draft;
  return { ...draft, destination: draftOf(destination, known.fields) };
}
