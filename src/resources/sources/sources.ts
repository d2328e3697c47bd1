import { canonicalJson } from "../../model/audit.ts";
import type { Clock, Random } from "../../model/clock.ts";
import { PosthornError } from "../../model/errors.ts";
import { DEFAULT_TENANT } from "../../model/event.ts";
import { isGatewayEventType } from "../../model/pattern.ts";
import {
  eraseSourceName,
  GENERIC_KIND,
  isSourceName,
  type Source,
  type SourceChange,
  type SourceInput,
  type SourceKindRules,
  type SourceStatus,
} from "../../model/source.ts";
import { endSecrets, retireSecret, rotateSecret, type SourceSecret } from "../../model/secrets.ts";
import type { ManagedBy } from "../../model/subscription.ts";
import type { Records } from "../../store/port/records.ts";
import { type Collection, checkIfMatch, type Entry, type RequestScope } from "../resource.ts";
import { declare, rejectManaged } from "../declared.ts";
import type { Draft, Pending } from "../draft.ts";
import type { Made, Once, Registry } from "../registry.ts";
import type { SecretBox } from "../secret-box.ts";
import {
  createSourceInputs,
  rejectBound,
  rejectClash,
  rejectForeign,
  rejectOtherTenant,
  rejectPath,
  rejectTakeover,
  rejectUnknownTarget,
} from "./source-checks.ts";
import {
  startSourceUpkeep,
  type SourceUpkeep,
  createSourceRecords,
  type SourceRecord,
  toSource,
  type SourceState,
} from "./source-record.ts";

/** The origins of webhooks: the declared sources, and any other name while the `*` source is on. */
export type Sources = Awaited<ReturnType<typeof openSources>>;

/** The number of names that the `*` source remembers. */
const MAX_REMEMBERED = 1000;
const MAX_SOURCES = 10_000;

export async function openSources(options: {
  registry: Registry;
  records: Pick<Records, "recordStates">;
  clock: Clock;
  random: Random;
  secretBox: SecretBox;
  kinds: ReadonlyMap<string, SourceKindRules>;
  /** Whether undeclared names accept webhooks, which then belong to the tenant `default`. */
  anySource: boolean;
  maxBytes: number;
  /** Throws `invalid_field` when a pulled source cannot work so; what it reads must not change until the write. */
  checkPulled?: ((state: SourceState, managedBy: ManagedBy, draft: Draft) => void) | undefined;
  /** The possible targets of a pulled source; they must not change until the draft is written. */
  listTargets?: ((draft: Draft, tenantId: string) => readonly { name: string; managedBy: ManagedBy }[]) | undefined;
  /** Called when sources have changed. */
  onChange?: (() => void) | undefined;
  /** Called when a source that accepts webhooks will no longer do so after the write. */
  onDisabled?: ((source: Source, reason: string, draft: Draft) => void) | undefined;
  onFault: (error: unknown) => void;
}) {
  const { registry, clock, random, kinds, anySource, maxBytes, onDisabled } = options;
  const undeclared = new Map<string, Source>();
  /** The declared names in lower case; undefined when they must be collected again. */
  let folded: ReadonlySet<string> | undefined;
  const inputs = createSourceInputs({ clock, random, kinds });
  /** Set only after the kind is opened. */
  const later: { sources?: Collection<SourceRecord>; upkeep?: SourceUpkeep } = {};
  const { resource, toRecord } = createSourceRecords({
    ...options,
    findLastRequestAt: (name) => later.sources?.find(name)?.thing.source.lastRequestAt,
  });
  const sources = await registry.open<SourceRecord>({
    ...resource,
    onChange(changes) {
      if (changes.some(({ before, after }) => before === undefined || after === undefined)) {
        undeclared.clear();
        folded = undefined;
      }
      later.upkeep?.schedule();
      if (later.sources !== undefined) options.onChange?.();
    },
  });
  later.sources = sources;
  const upkeep = (later.upkeep = startSourceUpkeep({ ...options, list: sources.list, endOverlaps }));

  /** A target that ignores case would take what was not verified for webhooks of the declared source. */
  function isLookalike(name: string): boolean {
    folded ??= new Set(sources.list().map(({ id }) => id.toLowerCase()));
    return folded.has(name.toLowerCase());
  }

  function put(draft: Draft, state: SourceState, managedBy: ManagedBy, reason: string): Pending<SourceRecord> {
    const before = draft.find(sources, state.shown.name)?.thing;
    if (managedBy === "api") rejectPath(state.shown.manifest, before?.state.shown.manifest);
    const record = toRecord(state, managedBy);
    notifyDisabled(draft, before, record, reason);
    return draft.put(sources, record);
  }

  function notifyDisabled(draft: Draft, before: SourceRecord | undefined, after: SourceRecord, reason: string): void {
    if (before?.source.status === "active" && after.source.status !== "active") {
      onDisabled?.(after.source, reason, draft);
    }
  }

  /** Removes secrets that a rotation replaced and whose overlap has ended. */
  async function endOverlaps(): Promise<void> {
    const hasEnded = ({ thing: { state } }: Entry<SourceRecord>) =>
      endSecrets(state.secrets, clock.wall()) !== state.secrets;
    const ended = sources.list().filter(hasEnded);
    if (ended.length === 0) return;
    await registry.change(sources, (draft) => {
      for (const { id } of ended) {
        const known = draft.find(sources, id);
        if (known === undefined || !hasEnded(known)) continue;
        const { state, managedBy } = known.thing;
        put(draft, { ...state, secrets: endSecrets(state.secrets, clock.wall()) }, managedBy, "");
      }
    });
  }

  function get(name: string, tenantId: string | undefined): Entry<SourceRecord> {
    return rejectForeign(sources.get(name), tenantId);
  }

  function getExpected(draft: Draft, name: string, { tenantId, ifMatch }: RequestScope): Entry<SourceRecord> {
    const known = rejectForeign(draft.get(sources, name), tenantId);
    rejectBound(kinds.get(known.thing.source.kind), tenantId);
    checkIfMatch(ifMatch, known);
    return known;
  }

  /** Checks only new settings: a stored source with older faults must still be paused and resumed. */
  function checkSet(draft: Draft, state: SourceState, tenantId: string | undefined): SourceState {
    const kind = kinds.get(state.shown.kind ?? GENERIC_KIND);
    rejectBound(kind, tenantId);
    if (kind?.isPulled !== true) return state;
    kind.checkOptions?.(state.options);
    const targets = options.listTargets?.(draft, tenantOf(state));
    if (targets !== undefined)
      rejectUnknownTarget(
        state.options,
        targets.map(({ name }) => name),
      );
    options.checkPulled?.(state, "api", draft);
    return state;
  }

  /** A target must be declared in the same file, or not be managed by a file. */
  function rejectUndeclaredTarget(draft: Draft, state: SourceState, declared: readonly string[]): void {
    const targets = options.listTargets?.(draft, tenantOf(state));
    if (targets === undefined) return;
    const others = targets.filter(({ managedBy }) => managedBy === "api");
    rejectUnknownTarget(state.options, [...declared, ...others.map(({ name }) => name)]);
  }

  function insert(draft: Draft, input: SourceInput, tenantId: string | undefined): Pending<SourceRecord> {
    rejectBound(kinds.get(input.kind ?? GENERIC_KIND), tenantId);
    if (anySource) rejectTakeover(input.name, tenantId);
    const { length } = draft.list(sources);
    if (length >= MAX_SOURCES) {
      throw new PosthornError("conflict", `There are ${length} sources; at most ${MAX_SOURCES} are allowed.`);
    }
    return put(draft, checkSet(draft, inputs.toState(input, undefined), tenantId), "api", "");
  }

  /** Changes an existing source, also one that the configuration declares. */
  function changeState(
    name: string,
    scope: RequestScope,
    toChanged: (known: SourceRecord) => SourceState,
    reason: string,
  ): Promise<Entry<SourceRecord>> {
    return registry.changeOne(sources, (draft) => {
      const { thing } = getExpected(draft, name, scope);
      return put(draft, toChanged(thing), thing.managedBy, reason);
    });
  }

  function changeSecrets(
    name: string,
    scope: RequestScope,
    toChanged: (known: SourceRecord) => readonly SourceSecret[],
  ): Promise<Entry<SourceRecord>> {
    return changeState(name, scope, (known) => ({ ...known.state, secrets: toChanged(known) }), "");
  }

  function buildDeclared(
    draft: Draft,
    input: SourceInput,
    known: SourceRecord | undefined,
    targets: readonly string[],
  ): SourceRecord {
    rejectClash(known);
    // A status set by an operator stays; a source that returned to the file starts as active.
    const status = input.status ?? (known?.managedBy === "config" ? known.source.status : "active");
    const state = inputs.toDeclaredState({ ...input, status }, known?.state);
    const isPulled = kinds.get(state.shown.kind ?? GENERIC_KIND)?.isPulled === true;
    // Its target may have left the file.
    if (isPulled) rejectUndeclaredTarget(draft, state, targets);
    if (known?.managedBy === "config" && isSame(known.state, state)) return known;
    if (isPulled) options.checkPulled?.(state, "config", draft);
    const record = toRecord(state, "config");
    notifyDisabled(draft, known, record, `the configuration says so: ${status}`);
    return record;
  }

  /** Its senders get 503 and retry, so nothing is lost if it left the file by mistake. */
  function toFormer(draft: Draft, known: SourceRecord): SourceRecord {
    const shown = { ...known.state.shown, status: "paused" as const };
    const former = toRecord({ ...known.state, shown }, "former_config");
    notifyDisabled(draft, known, former, "it left the configuration");
    return former;
  }

  return {
    find(name: string): Source | undefined {
      const known = sources.find(name)?.thing.source;
      if (known !== undefined || !anySource || sources.hasNewer(name)) return known;
      const remembered = undeclared.get(name);
      if (remembered !== undefined || !isSourceName(name) || isLookalike(name)) return remembered;
      const wasDeleted = sources.wasDeleted(name) || sources.wasDeleted(eraseSourceName(name));
      const status = wasDeleted ? "closed" : "active";
      const source = toSource(inputs.toState({ name, status }, undefined), undefined, { maxBytes, declared: false });
      // A name must not let a sender publish the gateway's own events.
      if (isGatewayEventType(source.eventType)) return undefined;
      if (undeclared.size >= MAX_REMEMBERED) undeclared.clear();
      undeclared.set(name, source);
      return source;
    },
    /** Sorted by name. */
    list: (tenantId: string | undefined) => {
      const all = sources.list().map(({ thing }) => thing);
      const own = all.filter(({ source }) => tenantId === undefined || source.tenantId === tenantId);
      return own.sort((a, b) => (a.source.name < b.source.name ? -1 : 1));
    },
    /** The tenant's sources that read from a queue; they must not change until the draft is written. */
    listPulled(draft: Draft, tenantId: string) {
      const isPulled = ({ tenantId: owner, kind }: Source) => owner === tenantId && kinds.get(kind)?.isPulled === true;
      return draft.list(sources).flatMap(({ thing }) => (isPulled(thing.source) ? [thing.state] : []));
    },
    /** A source that was created by API or declared in the file. */
    get,
    async create(
      input: SourceInput,
      { tenantId }: { tenantId?: string | undefined } = {},
      once?: Once,
    ): Promise<Made<SourceRecord>> {
      const made = await registry.make(sources, once, (draft) => {
        if (draft.find(sources, input.name) === undefined) return insert(draft, input, tenantId);
        throw new PosthornError("conflict", `The name ${input.name} is taken. Choose another.`);
      });
      // Another tenant may have taken the name since.
      if (made.entry.thing.source.tenantId === (input.tenant_id ?? DEFAULT_TENANT)) return made;
      throw new PosthornError("conflict", "The resource that this Idempotency-Key created was deleted; use a new one.");
    },
    /** Replaces all settings; secrets and the path token stay when none are given. */
    put: (input: SourceInput, { tenantId, ifMatch }: RequestScope = {}) =>
      registry.put(sources, (draft) => {
        const known = draft.find(sources, input.name);
        if (known !== undefined) rejectForeign(known, tenantId);
        checkIfMatch(ifMatch, known);
        if (known === undefined) return insert(draft, input, tenantId);
        const { source, state } = known.thing;
        rejectOtherTenant(input.tenant_id, source.tenantId);
        rejectManaged(sources, known);
        const kept = checkSet(draft, inputs.toState({ ...input, tenant_id: source.tenantId }, state), tenantId);
        return put(draft, kept, "api", reasonFor(input.status));
      }),
    /** Changes only the given settings. */
    change: (name: string, change: SourceChange, scope: RequestScope = {}) =>
      registry.changeOne(sources, (draft) => {
        const known = getExpected(draft, name, scope);
        rejectManaged(sources, known);
        const { state, source } = known.thing;
        const merged = { ...inputs.merge(state, change), tenant_id: source.tenantId };
        return put(
          draft,
          checkSet(draft, inputs.toState(merged, state), scope.tenantId),
          "api",
          reasonFor(change.status),
        );
      }),
    setStatus: (name: string, status: SourceStatus, scope: RequestScope = {}) =>
      changeState(name, scope, ({ state }) => ({ ...state, shown: { ...state.shown, status } }), reasonFor(status)),
    /** The new secret is current immediately; the earlier ones stay valid until the overlap ends. */
    async rotateSecret(
      name: string,
      { secret: given, overlapMs }: { secret?: string | undefined; overlapMs: number },
      scope: RequestScope = {},
    ): Promise<{ entry: Entry<SourceRecord>; secret: string }> {
      let secret = "";
      const entry = await changeSecrets(name, scope, ({ state }) => {
        secret = given ?? inputs.newSecret(state);
        inputs.checkSecret(secret, state);
        return rotateSecret(state.secrets, secret, overlapMs, { now: clock.wall(), createId: inputs.newSecretId });
      });
      return { entry, secret };
    },
    retireSecret: (name: string, secretId: string, scope: RequestScope = {}) =>
      changeSecrets(name, scope, ({ state, source }) => {
        const secrets = retireSecret(state.secrets, secretId);
        if (secrets.length > 0 || kinds.get(source.kind)?.needsSecret !== true) return secrets;
        throw new PosthornError("conflict", `${secretId} is the last secret of ${name}. Rotate it instead.`);
      }),
    remove: (name: string, scope: RequestScope = {}) =>
      registry.change(sources, (draft) => {
        rejectManaged(sources, getExpected(draft, name, scope));
        draft.remove(sources, name);
      }),
    /**
     * Puts the declared sources into the draft; returns the names that are no longer declared. `targetsIn`: the names of
     * the targets that the file declares for a tenant.
     */
    async declareIn(
      draft: Draft,
      given: readonly SourceInput[],
      targetsIn: (tenantId: string) => readonly string[] = () => [],
    ): Promise<readonly string[]> {
      const things = given.map((input) => ({
        id: input.name,
        build: (known: Entry<SourceRecord> | undefined) =>
          buildDeclared(draft, input, known?.thing, targetsIn(input.tenant_id ?? DEFAULT_TENANT)),
      }));
      const left = await declare(draft, sources, things, (known) => toFormer(draft, known));
      return left.map(({ id }) => id);
    },
    /** Writes the times that were only kept in memory. */
    stop: upkeep.stop,
  };
}

function tenantOf({ shown: { tenant_id: tenantId = DEFAULT_TENANT } }: SourceState): string {
  return tenantId;
}

function reasonFor(status: SourceStatus | undefined): string {
  return `it was set to ${status ?? "active"}`;
}

/** The order of members does not matter. */
function isSame(one: SourceState, other: SourceState): boolean {
  return canonicalJson(one) === canonicalJson(other);
}
