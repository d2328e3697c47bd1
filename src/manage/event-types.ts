import type { Clock } from "../domain/clock.ts";
import { PosthornError } from "../domain/errors.ts";
import {
  checkEventTypeInput,
  compareVersions,
  MAX_VERSIONS,
  type EventType,
  type EventTypeChange,
  type EventTypeInput,
  type EventTypeVersion,
  type EventTypeVersionContent,
} from "../domain/event-type.ts";
import type { ManagedBy } from "../domain/subscription.ts";
import type { EventTypeRow, Store } from "../store/store.ts";
import type { IdempotencyMark } from "../store/port/idempotency.ts";
import { createTurns } from "./in-turn.ts";

/** The registry of event types: in memory for whoever asks, in the store for good. One for the whole gateway. */
export interface EventTypes {
  find(name: string): EventType | undefined;
  get(name: string): EventType;
  /** By name; the same list as long as nothing changes. */
  list(): readonly EventType[];
  /** Refuses a name that is taken. */
  create(input: EventTypeInput, mark?: IdempotencyMark): Promise<EventType>;
  /** Makes it, or puts this in its place. */
  put(input: EventTypeInput, check?: EventTypeCheck): Promise<{ type: EventType; isNew: boolean }>;
  change(name: string, change: EventTypeChange, check?: EventTypeCheck): Promise<EventType>;
  putVersion(
    name: string,
    version: string,
    content: EventTypeVersionContent,
    check?: EventTypeCheck,
  ): Promise<EventType>;
  removeVersion(name: string, version: string, check?: EventTypeCheck): Promise<EventType>;
  remove(name: string, check?: EventTypeCheck): Promise<void>;
  /** All of them or none. What is not said of a known type stays as it is; versions are added. */
  import(inputs: readonly EventTypeInput[], options: { dryRun: boolean }): Promise<ImportPlan>;
  /** Takes over what the configuration declares, all or nothing; says which left it. */
  applyDeclared(declared: readonly EventTypeInput[]): Promise<{ left: readonly string[] }>;
}

/** Throws when this is not what the change was meant for; nothing can come between. */
type EventTypeCheck = (known: EventType | undefined) => void;

export interface ImportPlan {
  created: readonly string[];
  updated: readonly string[];
  unchanged: readonly string[];
}

export interface EventTypesOptions {
  store: Pick<Store, "loadEventTypes" | "saveEventTypes" | "deleteEventType">;
  clock: Pick<Clock, "wall">;
  /** Why a schema cannot be used or does not allow its example. */
  examine: (schema: object, example: unknown) => Promise<{ part: "schema" | "example"; message: string } | undefined>;
  onChange: (types: readonly EventType[]) => void;
}

const MAX_EVENT_TYPES = 10_000;
const MAX_EXAMPLE_BYTES = 64 * 1024;

export async function openEventTypes(options: EventTypesOptions): Promise<EventTypes> {
  const { store, clock, examine, onChange } = options;
  const types = new Map<string, EventType>();
  for (const row of await store.loadEventTypes()) types.set(row.name, fromRow(row));
  let sorted = sort();
  onChange(sorted);

  function sort(): readonly EventType[] {
    return [...types.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  function announce(): void {
    sorted = sort();
    onChange(sorted);
  }

  const inTurn = createTurns();

  function get(name: string): EventType {
    const type = types.get(name);
    if (type === undefined) throw new PosthornError("not_found", `There is no event type ${name}.`);
    return type;
  }

  function getMeant(name: string, check: EventTypeCheck | undefined): EventType {
    const type = get(name);
    check?.(type);
    return type;
  }

  /** Before anything else is done with it: what is nested too deep cannot even be compared. */
  function refuseWrong(input: EventTypeInput): void {
    const [problem] = checkEventTypeInput(input);
    if (problem !== undefined) throw invalid(problem.field, problem.message);
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

  async function build(input: EventTypeInput, managedBy: ManagedBy): Promise<EventType> {
    const known = types.get(input.name);
    refuseWrong(input);
    await examineVersions(input, known);
    return toEventType(input, known, managedBy, clock.wall());
  }

  async function save(changed: readonly EventType[], mark?: IdempotencyMark): Promise<void> {
    const added = changed.filter(({ name }) => !types.has(name)).length;
    if (types.size + added > MAX_EVENT_TYPES) {
      throw new PosthornError("conflict", `There are ${types.size} event types; ${MAX_EVENT_TYPES} are the most.`);
    }
    if (changed.length === 0) return;
    await store.saveEventTypes(changed.map(toRow), mark);
    for (const type of changed) types.set(type.name, type);
    announce();
  }

  async function put(input: EventTypeInput, mark?: IdempotencyMark): Promise<{ type: EventType; isNew: boolean }> {
    refuseManaged(types.get(input.name));
    const isNew = !types.has(input.name);
    const type = await build(input, "api");
    await save([type], mark);
    return { type, isNew };
  }

  return {
    find: (name) => types.get(name),
    get,
    list: () => sorted,
    create: (input, mark) =>
      inTurn(async () => {
        if (types.has(input.name)) {
          throw new PosthornError("conflict", `There is an event type ${input.name} already. Change that one.`);
        }
        return (await put(input, mark)).type;
      }),
    put: (input, check) =>
      inTurn(async () => {
        check?.(types.get(input.name));
        return put(input);
      }),
    change: (name, change, check) =>
      inTurn(async () => {
        const current = toInput(getMeant(name, check));
        const merged = { ...current, ...change };
        // Whoever makes it active again need not take the time away.
        if (merged.status !== "deprecated" && change.deprecated_at === undefined) delete merged.deprecated_at;
        return (await put(merged)).type;
      }),
    putVersion: (name, version, content, check) =>
      inTurn(async () => {
        const current = toInput(getMeant(name, check));
        const others = (current.versions ?? []).filter((one) => one.version !== version);
        if (others.length >= MAX_VERSIONS) {
          throw new PosthornError("conflict", `${name} has ${MAX_VERSIONS} versions, the most. Delete one first.`);
        }
        return (await put({ ...current, versions: [...others, { version, ...content }] })).type;
      }),
    removeVersion: (name, version, check) =>
      inTurn(async () => {
        const current = toInput(getMeant(name, check));
        const versions = (current.versions ?? []).filter((one) => one.version !== version);
        if (versions.length === current.versions?.length) {
          throw new PosthornError("not_found", `The event type ${name} has no version ${version}.`);
        }
        return (await put({ ...current, versions })).type;
      }),
    remove: (name, check) =>
      inTurn(async () => {
        refuseManaged(getMeant(name, check));
        await store.deleteEventType(name);
        types.delete(name);
        announce();
      }),
    import: (inputs, { dryRun }) =>
      inTurn(async () => {
        const built: EventType[] = [];
        const unchanged: string[] = [];
        for (const input of inputs) {
          const known = types.get(input.name);
          refuseWrong(input);
          const merged = known === undefined ? input : mergeImport(toInput(known), input);
          if (known !== undefined && isSame(toInput(known), toInput(toEventType(merged, known, known.managedBy, 0)))) {
            unchanged.push(input.name);
            continue;
          }
          refuseManaged(known);
          built.push(await build(merged, "api").catch((error: unknown) => throwNamed(error, input.name)));
        }
        const names = (isKnown: boolean) => built.map(({ name }) => name).filter((name) => types.has(name) === isKnown);
        const plan = { created: names(false), updated: names(true), unchanged };
        if (!dryRun) await save(built);
        return plan;
      }),
    applyDeclared: (declared) =>
      inTurn(async () => {
        const changed: EventType[] = [];
        for (const input of declared) {
          const type = await build(input, "config").catch((error: unknown) => throwDeclared(error, input.name));
          if (!isSame(type, types.get(input.name), "updatedAt")) changed.push(type);
        }
        const names = new Set(declared.map(({ name }) => name));
        const left = sorted.filter(({ name, managedBy }) => managedBy === "config" && !names.has(name));
        // It stays known and refuses nobody: it may have left the file by mistake.
        const former = left.map((type) => toFormer(type, clock.wall()));
        await save([...changed, ...former]);
        return { left: left.map(({ name }) => name) };
      }),
  };
}

function toFormer(type: EventType, updatedAt: number): EventType {
  return { ...type, enforce: false, managedBy: "former_config", updatedAt };
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
    versions: versions.sort((a, b) => compareVersions(a.version, b.version)),
    managedBy,
    createdAt: known?.createdAt ?? wall,
    updatedAt: wall,
  };
}

/** The way back: what a user would have to say to get this type. */
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

function toRow(type: EventType): EventTypeRow {
  const { name, managedBy, createdAt, updatedAt, ...rest } = type;
  return { name, managedBy, createdAt, updatedAt, settings: JSON.stringify(rest) };
}

type Kept = Omit<EventType, "name" | "managedBy" | "createdAt" | "updatedAt">;

function fromRow({ name, settings, managedBy, createdAt, updatedAt }: EventTypeRow): EventType {
  const kept = JSON.parse(settings) as Kept;
  return {
    name,
    description: kept.description,
    producer: kept.producer,
    consumers: kept.consumers,
    status: kept.status,
    deprecatedAt: kept.deprecatedAt,
    replacedBy: kept.replacedBy,
    enforce: kept.enforce,
    versions: kept.versions,
    managedBy,
    createdAt,
    updatedAt,
  };
}

function isSame(a: unknown, b: unknown, without?: string): boolean {
  const write = (value: unknown) =>
    JSON.stringify(value, (key, inner: unknown) => (key === without ? undefined : inner)) ?? "";
  return write(a) === write(b);
}

function refuseManaged(type: EventType | undefined): void {
  if (type?.managedBy !== "config") return;
  throw new PosthornError(
    "managed_by_config",
    `The event type ${type.name} is declared in the configuration. Change it there and reload with SIGHUP.`,
  );
}

function invalid(field: string, message: string): PosthornError {
  return new PosthornError("invalid_field", `${field} ${message}.`, { field });
}

function throwNamed(error: unknown, name: string): never {
  if (!(error instanceof PosthornError)) throw error;
  const { code, message, field } = error;
  throw new PosthornError(code, `${name}: ${message}`, { field, details: { event_type: name } });
}

function throwDeclared(error: unknown, name: string): never {
  if (!(error instanceof PosthornError) || error.code !== "invalid_field") throw error;
  throw new PosthornError("config_invalid", `The declared event type ${name} is not valid: ${error.message}`);
}
