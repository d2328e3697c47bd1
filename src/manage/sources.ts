import type { Clock, Random } from "../domain/clock.ts";
import { PosthornError } from "../domain/errors.ts";
import { isGatewayEventType } from "../domain/pattern.ts";
import {
  GENERIC_KIND,
  SOURCE_NAME_PATTERN,
  type Source,
  type SourceInput,
  type SourceKindRules,
  type SourceStatus,
} from "../domain/source.ts";
import { endSecrets, retireSecret, rotateSecret, type SourceSecret } from "../domain/source-secrets.ts";
import type { ManagedBy } from "../domain/subscription.ts";
import type { IdempotencyMark } from "../store/port/idempotency.ts";
import type { SourceRow, Store } from "../store/store.ts";
import { createTurns } from "../registry/in-turn.ts";
import type { SecretBox } from "./secret-box.ts";
import { createSourceInputs, type SourceChange } from "./source-input.ts";
import { startSourceNotes } from "./source-notes.ts";
import { readState, toSource, writeState, type SourceState } from "./source-settings.ts";

/** Where webhooks come from: the declared ones, and any other name while the `*` source is on. */
export interface Sources {
  find(name: string): Source | undefined;
  /** Whether a name that nobody has declared takes webhooks, which belong to the tenant `default`. */
  readonly isOpenToAny: boolean;
  /** By name. */
  list(tenantId: string | undefined): readonly SourceRecord[];
  /** One that was declared, by API or in the file. */
  findDeclared(name: string, tenantId: string | undefined): SourceRecord | undefined;
  get(name: string, tenantId: string | undefined): SourceRecord;
  create(input: SourceInput, mark?: IdempotencyMark): Promise<SourceRecord>;
  /** All that is set becomes what is given; secrets and the path token stay when none is given. */
  put(input: SourceInput, check?: SourceCheck): Promise<{ record: SourceRecord; isNew: boolean }>;
  /** What is not given stays. */
  change(name: string, change: SourceChange, check?: SourceCheck): Promise<SourceRecord>;
  setStatus(name: string, status: SourceStatus, check?: SourceCheck): Promise<SourceRecord>;
  /** The new secret is current at once; those before it count until the overlap ends. */
  rotateSecret(name: string, rotation: SourceRotation): Promise<{ record: SourceRecord; secret: string }>;
  retireSecret(name: string, secretId: string): Promise<SourceRecord>;
  remove(name: string, check?: SourceCheck): Promise<void>;
  /** Throws `config_invalid` for the first one that cannot be taken over. */
  checkDeclared(declared: readonly SourceInput[]): void;
  /** Takes over what the configuration declares; says which left it. */
  applyDeclared(declared: readonly SourceInput[]): Promise<{ left: readonly string[] }>;
  /** Writes down what was only noted. */
  stop(): Promise<void>;
}

/** A declared source, with what its owner set. */
export interface SourceRecord {
  readonly source: Source;
  readonly state: SourceState;
  readonly managedBy: ManagedBy;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Throws when this is not what the change was meant for; nothing can come between. */
export type SourceCheck = (known: SourceRecord | undefined) => void;

export interface SourceRotation {
  secret?: string | undefined;
  overlapMs: number;
}

export interface SourcesOptions {
  store: Pick<Store, "loadSources" | "saveSource" | "deleteSource" | "noteSourceRequests">;
  clock: Clock;
  random: Random;
  secretBox: SecretBox;
  kinds: ReadonlyMap<string, SourceKindRules>;
  anySource: boolean;
  maxBytes: number;
  /** It took webhooks, and takes none any more. */
  onDisabled?: ((source: Source, reason: string) => void) | undefined;
  onFault: (error: unknown) => void;
}

const NAME = new RegExp(SOURCE_NAME_PATTERN);
/** Names that only the `*` source answers to are remembered, up to a bound. */
const MAX_REMEMBERED = 1000;
const MAX_SOURCES = 10_000;

export async function openSources(options: SourcesOptions): Promise<Sources> {
  const { store, clock, random, secretBox, kinds, anySource, maxBytes, onDisabled } = options;
  const declared = new Map<string, SourceRecord>();
  const undeclared = new Map<string, Source>();
  const inputs = createSourceInputs({ clock, random, kinds });
  const inTurn = createTurns();
  for (const row of await store.loadSources()) remember(readState(row.settings, secretBox), row);
  const notes = startSourceNotes({
    store,
    clock,
    list: () => [...declared.values()],
    endOverlaps,
    onFault: options.onFault,
  });

  function remember(state: SourceState, row: Omit<SourceRow, "settings">): SourceRecord {
    const { name, managedBy, updatedAt, createdAt = updatedAt } = row;
    const live = { ...state, secrets: endSecrets(state.secrets, clock.wall()) };
    const source = toSource(live, kinds.get(state.shown.kind ?? GENERIC_KIND), { maxBytes, declared: true });
    source.lastRequestAt = declared.get(name)?.source.lastRequestAt ?? row.lastRequestAt ?? 0;
    const record = { source, state: live, managedBy, createdAt, updatedAt };
    declared.set(name, record);
    undeclared.delete(name);
    return record;
  }

  async function save(
    state: SourceState,
    managedBy: ManagedBy,
    why: { reason: string; mark?: IdempotencyMark | undefined },
  ): Promise<SourceRecord> {
    const { name } = state.shown;
    const before = declared.get(name);
    if (managedBy === "api") refusePath(state.shown.manifest, before?.state.shown.manifest);
    const updatedAt = clock.wall();
    const row = { name, managedBy, createdAt: before?.createdAt ?? updatedAt, updatedAt, lastRequestAt: undefined };
    await store.saveSource({ ...row, settings: writeState(state, secretBox) }, why.mark);
    const record = remember(state, row);
    notes.schedule();
    const { source } = record;
    if (before?.source.status === "active" && source.status !== "active") onDisabled?.(source, why.reason);
    return record;
  }

  /** Those that a rotation replaced and whose time is over. */
  async function endOverlaps(): Promise<void> {
    await inTurn(async () => {
      for (const { state, managedBy } of declared.values()) {
        const secrets = endSecrets(state.secrets, clock.wall());
        if (secrets !== state.secrets) await save({ ...state, secrets }, managedBy, { reason: "" });
      }
    });
  }

  function get(name: string, tenantId: string | undefined): SourceRecord {
    const record = findDeclared(name, tenantId);
    if (record === undefined) throw new PosthornError("not_found", `There is no source ${name}.`);
    return record;
  }

  function findDeclared(name: string, tenantId: string | undefined): SourceRecord | undefined {
    const record = declared.get(name);
    return tenantId === undefined || record?.source.tenantId === tenantId ? record : undefined;
  }

  /** The one that a change is meant for, which the file does not own. */
  function getMeant(name: string, check: SourceCheck | undefined): SourceRecord {
    const record = get(name, undefined);
    check?.(record);
    refuseManaged(record);
    return record;
  }

  async function insert(input: SourceInput, mark?: IdempotencyMark): Promise<SourceRecord> {
    if (declared.size >= MAX_SOURCES) {
      throw new PosthornError("conflict", `There are ${declared.size} sources; ${MAX_SOURCES} are the most.`);
    }
    return save(inputs.toState(input, undefined), "api", { reason: "", mark });
  }

  async function saveSecrets(record: SourceRecord, secrets: readonly SourceSecret[]): Promise<SourceRecord> {
    return save({ ...record.state, secrets }, record.managedBy, { reason: "" });
  }

  return {
    isOpenToAny: anySource,
    find(name) {
      const known = declared.get(name)?.source ?? undeclared.get(name);
      if (known !== undefined || !anySource || !NAME.test(name)) return known;
      const source = toSource(inputs.toState({ name }, undefined), undefined, { maxBytes, declared: false });
      // Nobody may speak for the gateway by choosing a name.
      if (isGatewayEventType(source.eventType)) return undefined;
      if (undeclared.size >= MAX_REMEMBERED) undeclared.clear();
      undeclared.set(name, source);
      return source;
    },
    list: (tenantId) =>
      [...declared.values()]
        .filter(({ source }) => tenantId === undefined || source.tenantId === tenantId)
        .sort((a, b) => (a.source.name < b.source.name ? -1 : 1)),
    findDeclared,
    get,
    create: (input, mark) =>
      inTurn(async () => {
        if (declared.has(input.name)) {
          throw new PosthornError("conflict", `The name ${input.name} is taken. Choose another.`);
        }
        return insert(input, mark);
      }),
    put: (input, check) =>
      inTurn(async () => {
        const known = declared.get(input.name);
        check?.(known);
        if (known === undefined) return { record: await insert(input), isNew: true };
        refuseManaged(known);
        const kept = { ...input, tenant_id: known.source.tenantId };
        return { record: await save(inputs.toState(kept, known.state), "api", said(input.status)), isNew: false };
      }),
    change: (name, change, check) =>
      inTurn(async () => {
        const { state, source } = getMeant(name, check);
        const merged = { ...inputs.merge(state, change), tenant_id: source.tenantId };
        return save(inputs.toState(merged, state), "api", said(change.status));
      }),
    setStatus: (name, status, check) =>
      inTurn(async () => {
        const record = get(name, undefined);
        check?.(record);
        const { state, managedBy } = record;
        return save({ ...state, shown: { ...state.shown, status } }, managedBy, said(status));
      }),
    rotateSecret: (name, { secret: given, overlapMs }) =>
      inTurn(async () => {
        const record = get(name, undefined);
        const secret = given ?? inputs.newSecret(record.state);
        inputs.checkSecret(secret, record.state);
        const times = { now: clock.wall(), createId: inputs.newSecretId };
        const secrets = rotateSecret(record.state.secrets, secret, overlapMs, times);
        return { record: await saveSecrets(record, secrets), secret };
      }),
    retireSecret: (name, secretId) =>
      inTurn(async () => {
        const record = get(name, undefined);
        const secrets = retireSecret(record.state.secrets, secretId);
        if (secrets.length === 0 && kinds.get(record.source.kind)?.needsSecret === true) {
          throw new PosthornError("conflict", `${secretId} is the last secret of ${name}. Rotate it instead.`);
        }
        return saveSecrets(record, secrets);
      }),
    remove: (name, check) =>
      inTurn(async () => {
        getMeant(name, check);
        await store.deleteSource(name);
        declared.delete(name);
      }),
    checkDeclared(given) {
      for (const input of given) {
        try {
          inputs.check(input, declared.get(input.name)?.state);
        } catch (error) {
          if (!(error instanceof PosthornError) || error.code !== "invalid_field") throw error;
          throw new PosthornError("config_invalid", `The declared source ${input.name} is not valid: ${error.message}`);
        }
      }
    },
    applyDeclared: (given) =>
      inTurn(async () => {
        const names = new Set(given.map(({ name }) => name));
        for (const name of names) refuseClash(declared.get(name));
        const left = [...declared.values()].filter(
          ({ source, managedBy }) => managedBy === "config" && !names.has(source.name),
        );
        for (const { state } of left) {
          // Its senders get 503 and try again: nothing is lost if it left the file by mistake.
          const paused = { ...state, shown: { ...state.shown, status: "paused" as const } };
          await save(paused, "former_config", { reason: "it left the configuration" });
        }
        for (const input of given) {
          const known = declared.get(input.name);
          // What an operator set stays; one that came back to the file starts anew.
          const status = input.status ?? (known?.managedBy === "config" ? known.source.status : "active");
          const state = inputs.toDeclaredState({ ...input, status }, known?.state);
          await save(state, "config", { reason: `the configuration says so: ${status}` });
        }
        return { left: left.map(({ source }) => source.name) };
      }),
    stop: notes.stop,
  };
}

function said(status: SourceStatus | undefined): { reason: string } {
  return { reason: `somebody set it to ${status ?? "active"}` };
}

/** Whoever may make a source may not read the files of this machine. */
function refusePath(manifest: SourceInput["manifest"], known: SourceInput["manifest"]): void {
  if (typeof manifest !== "string" || manifest === known) return;
  const message = "manifest: a path can be given in posthorn.yaml only; give the document itself";
  throw new PosthornError("invalid_field", message, { field: "manifest" });
}

function refuseManaged({ source, managedBy }: SourceRecord): void {
  if (managedBy !== "config") return;
  throw new PosthornError(
    "managed_by_config",
    `The source ${source.name} is declared in posthorn.yaml. Change it there and reload with SIGHUP.`,
  );
}

function refuseClash(known: SourceRecord | undefined): void {
  if (known?.managedBy !== "api") return;
  const { name } = known.source;
  throw new PosthornError(
    "conflict",
    `The source ${name} was made by API. Delete it there, or choose another name in posthorn.yaml.`,
  );
}
