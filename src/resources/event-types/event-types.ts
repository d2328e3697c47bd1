import type { Clock } from "../../model/clock.ts";
import { invalidField, PosthornError } from "../../model/errors.ts";
import {
  checkEventTypeInput,
  compareVersions,
  MAX_VERSIONS,
  type EventType,
  type EventTypeChange,
  type EventTypeInput,
  type EventTypeVersion,
  type EventTypeVersionContent,
} from "../../model/event-type.ts";
import type { ManagedBy } from "../../model/subscription.ts";
import { checkExpected, declare, rejectManaged } from "../declared.ts";
import type { Draft, Pending } from "../draft.ts";
import { checkIfMatch, type Entry, type Resource } from "../resource.ts";
import type { Made, Once, Put, Registry } from "../registry.ts";
import { matchesPattern, parsePattern, type Pattern } from "../../model/pattern.ts";
import type { EventTypeSchema } from "../../sandbox/templates/templates.ts";

export type EventTypes = Awaited<ReturnType<typeof openEventTypes>>;

interface ImportPlan {
  created: readonly string[];
  updated: readonly string[];
  unchanged: readonly string[];
}

interface EventTypesOptions {
  registry: Registry;
  clock: Pick<Clock, "wall">;
  /** Returns why a schema cannot be used or does not allow its example. */
  examine: (schema: object, example: unknown) => Promise<{ part: "schema" | "example"; message: string } | undefined>;
  onChange: (types: readonly EventType[]) => void;
}

const MAX_EVENT_TYPES = 10_000;
const MAX_EXAMPLE_BYTES = 64 * 1024;

/** The event types of the whole gateway. */
export async function openEventTypes(options: EventTypesOptions) {
  const { registry, clock, examine, onChange } = options;
  let sorted: readonly EventType[] = [];
  const types = await registry.open<EventType>({ ...EVENT_TYPES, onChange: (_, list) => announce(list()) });
  if (sorted.length === 0) announce([]);

  function announce(all: readonly Entry<EventType>[]): void {
    sorted = all.map(({ thing }) => thing).sort((a, b) => (a.name < b.name ? -1 : 1));
    onChange(sorted);
  }

  /** The first check, because a value that is nested too deeply cannot even be compared. */
  function rejectWrong(input: EventTypeInput): void {
    for (const { field, message } of checkEventTypeInput(input)) throw invalid(field, message);
  }

  async function examineVersions(input: EventTypeInput, known: EventType | undefined): Promise<void> {
    const before = new Map(known?.versions.map((one) => [one.version, one]));
    for (const [index, { version, schema, example }] of (input.versions ?? []).entries()) {
      const place = `versions[${index}]`;
      if (JSON.stringify(example ?? null).length > MAX_EXAMPLE_BYTES) {
        throw invalid(`${place}.example`, `is larger than ${MAX_EXAMPLE_BYTES / 1024} KB`);
      }
      const same = before.get(version);
      if (same !== undefined && isSame(same.schema, schema) && isSame(same.example, example)) continue;
      const fault = await examine(schema, example);
      if (fault !== undefined) throw invalid(`${place}.${fault.part}`, fault.message);
    }
  }

  async function build(
    input: EventTypeInput,
    known: Entry<EventType> | undefined,
    managedBy: ManagedBy,
  ): Promise<EventType> {
    rejectWrong(input);
    await examineVersions(input, known?.thing);
    return toEventType(input, known?.thing, managedBy, clock.wall());
  }

  function rejectTooMany(draft: Draft, added: number): void {
    if (added === 0) return;
    const { length } = draft.list(types);
    if (length + added <= MAX_EVENT_TYPES) return;
    throw new PosthornError("conflict", `There are ${length} event types; at most ${MAX_EVENT_TYPES} are allowed.`);
  }

  async function put(draft: Draft, input: EventTypeInput): Promise<Pending<EventType>> {
    const known = draft.find(types, input.name);
    rejectManaged(types, known);
    rejectTooMany(draft, known === undefined ? 1 : 0);
    return draft.put(types, await build(input, known, "api"));
  }

  /** Changes an existing event type in the form of its input. */
  function changeInput(
    name: string,
    ifMatch: string | undefined,
    toChanged: (current: EventTypeInput) => EventTypeInput,
  ): Promise<Entry<EventType>> {
    return registry.changeOne(types, (draft) => {
      const known = draft.get(types, name);
      checkIfMatch(ifMatch, known);
      return put(draft, toChanged(toInput(known.thing)));
    });
  }

  return {
    find: types.find,
    get: types.get,
    /** Sorted by name; the same array until something changes. */
    list: () => sorted,
    /** Throws when the name is taken. */
    create: (input: EventTypeInput, once?: Once): Promise<Made<EventType>> =>
      registry.make(types, once, (draft) => {
        if (draft.find(types, input.name) === undefined) return put(draft, input);
        throw new PosthornError("conflict", `The event type ${input.name} already exists. Change it instead.`);
      }),
    /** Creates or replaces the event type. */
    put: (input: EventTypeInput, ifMatch?: string): Promise<Put<EventType>> =>
      registry.put(types, (draft) => {
        checkIfMatch(ifMatch, draft.find(types, input.name));
        return put(draft, input);
      }),
    change: (name: string, change: EventTypeChange, ifMatch?: string) =>
      changeInput(name, ifMatch, (current) => {
        const merged = { ...current, ...change };
        // A type that becomes active again needs no explicit removal of `deprecated_at`.
        if (merged.status !== "deprecated" && change.deprecated_at === undefined) delete merged.deprecated_at;
        return merged;
      }),
    putVersion: (name: string, version: string, content: EventTypeVersionContent, ifMatch?: string) =>
      changeInput(name, ifMatch, (current) => {
        const others = (current.versions ?? []).filter((one) => one.version !== version);
        if (others.length >= MAX_VERSIONS) {
          throw new PosthornError("conflict", `${name} has ${MAX_VERSIONS} versions, the maximum. Delete one first.`);
        }
        return { ...current, versions: [...others, { version, ...content }] };
      }),
    removeVersion: (name: string, version: string, ifMatch?: string) =>
      changeInput(name, ifMatch, (current) => {
        const versions = (current.versions ?? []).filter((one) => one.version !== version);
        if (versions.length === current.versions?.length) {
          throw new PosthornError("not_found", `The event type ${name} has no version ${version}.`);
        }
        return { ...current, versions };
      }),
    remove: (name: string, ifMatch?: string): Promise<void> =>
      registry.change(types, (draft) => {
        checkExpected(types, draft.get(types, name), ifMatch);
        draft.remove(types, name);
      }),
    /** All or nothing. Settings that are not given stay unchanged; versions are added. */
    import: (inputs: readonly EventTypeInput[], { dryRun }: { dryRun: boolean }): Promise<ImportPlan> =>
      registry.change(types, async (draft) => {
        const built: EventType[] = [];
        const plan = { created: [] as string[], updated: [] as string[], unchanged: [] as string[] };
        for (const input of inputs) {
          const { name } = input;
          rejectWrong(input);
          const known = draft.find(types, name);
          const merged = known === undefined ? input : mergeImport(toInput(known.thing), input);
          if (known !== undefined && isSameInput(known.thing, merged)) {
            plan.unchanged.push(name);
            continue;
          }
          rejectManaged(types, known);
          built.push(await build(merged, known, "api").catch((error: unknown) => throwNamed(error, name)));
          (known === undefined ? plan.created : plan.updated).push(name);
        }
        rejectTooMany(draft, dryRun ? 0 : plan.created.length);
        if (!dryRun) for (const type of built) draft.put(types, type);
        return plan;
      }),
    /** Puts the declared event types into the draft; returns the names that are no longer declared. */
    async declareIn(draft: Draft, declared: readonly EventTypeInput[]): Promise<readonly string[]> {
      const things = declared.map((input) => ({
        id: input.name,
        build: (known: Entry<EventType> | undefined) => build(input, known, "config"),
      }));
      rejectTooMany(draft, declared.filter(({ name }) => types.find(name) === undefined).length);
      const left = await declare(draft, types, things, toFormer);
      return left.map(({ id }) => id).sort();
    },
  };
}

type Kept = Omit<EventType, "name" | "createdAt" | "updatedAt">;

const EVENT_TYPES: Resource<EventType> = {
  kind: "event_type",
  noun: "event type",
  format: 1,
  read: ({ id, data, createdAt, updatedAt }) => ({ ...(JSON.parse(data) as Kept), name: id, createdAt, updatedAt }),
  // Without the fields that the record has itself.
  write: (type) => ({ data: JSON.stringify({ ...type, name: undefined, createdAt: undefined, updatedAt: undefined }) }),
  keyOf: ({ name }) => ({ id: name }),
};

/** It stays known but rejects no events, because it may have left the file by mistake. */
function toFormer(type: EventType): EventType {
  return { ...type, enforce: false, managedBy: "former_config" };
}

function toEventType(
  input: EventTypeInput,
  known: EventType | undefined,
  managedBy: ManagedBy,
  wall: number,
): EventType {
  const status = input.status ?? "active";
  const versions = (input.versions ?? []).map(({ version, schema, example }): EventTypeVersion => {
    const before = known?.versions.find((one) => one.version === version);
    const isKept = before !== undefined && isSame(before.schema, schema);
    return { version, schema, example, createdAt: isKept ? before.createdAt : wall };
  });
  const given = input.deprecated_at === undefined ? undefined : Date.parse(input.deprecated_at);
  return {
    name: input.name,
    description: input.description,
    producer: input.producer,
    consumers: input.consumers ?? [],
    status,
    deprecatedAt: status === "deprecated" ? (given ?? known?.deprecatedAt ?? wall) : undefined,
    replacedBy: input.replaced_by,
    enforce: input.enforce ?? true,
    mask: input.mask ?? [],
    versions: versions.sort((a, b) => compareVersions(a.version, b.version)),
    managedBy,
    createdAt: known?.createdAt ?? wall,
    updatedAt: wall,
  };
}

/** The input that would create this type. */
function toInput(type: EventType): EventTypeInput {
  return {
    name: type.name,
    ...(type.description !== undefined && { description: type.description }),
    ...(type.producer !== undefined && { producer: type.producer }),
    consumers: [...type.consumers],
    status: type.status,
    ...(type.deprecatedAt !== undefined && { deprecated_at: new Date(type.deprecatedAt).toISOString() }),
    ...(type.replacedBy !== undefined && { replaced_by: type.replacedBy }),
    enforce: type.enforce,
    mask: [...(type.mask ?? [])],
    versions: type.versions.map(({ version, schema, example }) => ({
      version,
      schema,
      ...(example !== undefined && { example }),
    })),
  };
}

function mergeImport(current: EventTypeInput, imported: EventTypeInput): EventTypeInput {
  const versions = new Map((current.versions ?? []).map((one) => [one.version, one]));
  for (const one of imported.versions ?? []) versions.set(one.version, one);
  const merged = { ...current, ...imported, versions: [...versions.values()] };
  if (merged.status !== "deprecated" && imported.deprecated_at === undefined) delete merged.deprecated_at;
  return merged;
}

function isSameInput(known: EventType, merged: EventTypeInput): boolean {
  return isSame(toInput(known), toInput(toEventType(merged, known, known.managedBy, 0)));
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function invalid(field: string, message: string): PosthornError {
  return invalidField(field, `${field} ${message}.`);
}

function throwNamed(error: unknown, name: string): never {
  if (!(error instanceof PosthornError)) throw error;
  const { code, message, field } = error;
  throw new PosthornError(code, `${name}: ${message}`, { field, details: { event_type: name } });
}

/**
 * The schemas of the event types that the patterns name. Empty when a pattern also matches types with unknown payloads:
 * a type without a schema, or any type at all.
 */
export function listNamedSchemas(patterns: readonly string[], types: readonly EventType[]): EventTypeSchema[] {
  const named = patterns.map((text) => listNamed(parsePattern(text), types));
  if (named.some((list) => list.length === 0 || list.some(({ versions }) => versions.length === 0))) return [];
  return [...new Set(named.flat())].flatMap(({ name, versions }) =>
    versions.map(({ schema }) => ({ eventType: name, schema })),
  );
}

function listNamed(pattern: Pattern, types: readonly EventType[]): EventType[] {
  const [first] = pattern.words;
  if (first === "*" || first === "#") return [];
  return types.filter(({ name }) => matchesPattern(pattern, name));
}
