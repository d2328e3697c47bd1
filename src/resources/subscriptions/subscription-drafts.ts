import { isDeepStrictEqual } from "node:util";
import { settingsIn, withSettings } from "../../destinations/kind-settings.ts";
import type { DestinationKind } from "../../destinations/sender.ts";
import { PosthornError } from "../../model/errors.ts";
import { DEFAULT_TENANT, GATEWAY_TENANT } from "../../model/event.ts";
import { checkHeld, type HoldingSource } from "../../model/hold-rules.ts";
import { stableId } from "../../model/ids.ts";
import type { SigningKeys } from "../../model/signing-keys.ts";
import {
  ownerOf,
  type ManagedBy,
  type Subscription,
  type SubscriptionInput,
  type SubscriptionStatus,
} from "../../model/subscription.ts";
import type { TargetInput } from "../../model/target.ts";
import { isPresetName } from "../../model/target-presets.ts";
import type { FieldProblem } from "../../model/subscription-rules.ts";
import { type Collection, checkIfMatch } from "../resource.ts";
import { rejectManaged, type DeclaredThing } from "../declared.ts";
import type { Draft, Pending } from "../draft.ts";
import {
  rejectFrequentChecks,
  createSubscriptionAccess,
  type SubscriptionAccessOptions,
} from "./subscription-access.ts";
import type { PendingPut } from "../registry.ts";
import { targetOfSource } from "../sources/source-checks.ts";
import type { KeptEntry, KnownSubscriptions } from "./known-subscriptions.ts";
import {
  mergeChange,
  type SubscriptionBuild,
  type SubscriptionChange,
  type KeptSubscription,
} from "./subscription-record.ts";
import {
  createSubscriptionCheck,
  rejectFallbacks,
  rejectOtherKind,
  rejectOthersNames,
  rejectOverQuota,
  rejectRival,
  rejectSameName,
  rejectUnknownKind,
  type SubscriptionCheckOptions,
  rejectTemplates,
  type ExamineTemplates,
} from "./subscription-checks.ts";

/** Checks the wanted state of a subscription against all others and puts it into the draft. */
export type SubscriptionDrafts = ReturnType<typeof createSubscriptionDrafts>;

/** The configuration, or a contact of the tenant. */
export type Declarer = "config" | "contact";

export type SubscriptionRef = Pick<Subscription, "id" | "tenantId">;

/** The other subscriptions of the tenant, and its own state before. */
interface Among {
  tenantId: string;
  others: readonly Subscription[];
  before?: { name: string } | undefined;
}

interface Maker {
  id: string;
  createdBy?: string | undefined;
  boundTo?: string | undefined;
}

export interface ChangeTerms {
  /** The tenant of the caller's key; undefined for operators. */
  boundTo?: string | undefined;
  ifMatch?: string | undefined;
  notifyRotation?: NotifyRotation | undefined;
}

/** Called when the change begins a rotation of the secret; may add to the draft. */
export type NotifyRotation = (draft: Draft, subscription: Subscription, keys: SigningKeys) => void;

export interface PutTerms extends ChangeTerms {
  createdBy?: string | undefined;
}

/** What an update of a subscription must know about its stored secrets. */
interface UpdateTerms {
  boundTo: string | undefined;
  /** A stored secret that stays without being given again. */
  carried: string | undefined;
  notifyRotation: NotifyRotation | undefined;
}

export interface SubscriptionDraftsOptions extends SubscriptionCheckOptions, SubscriptionAccessOptions {
  examineTemplates?: ExamineTemplates | undefined;
  /** How many subscriptions the tenant may have; undefined without a limit. */
  findQuota?: ((draft: Draft, tenantId: string) => number | undefined) | undefined;
  /** The limit for callers that are bound to a tenant without such a quota. */
  maxPerTenant?: number | undefined;
  /** The tenant's sources that read from queues and its number of shared targets; fixed until the draft is written. */
  findHolding?:
    | ((draft: Draft, tenantId: string) => { sources: readonly HoldingSource[]; sharedTargets: number })
    | undefined;
  /** Called when a change of its settings makes it active again. */
  onResumed?: ((draft: Draft, subscription: Subscription, from: SubscriptionStatus) => void) | undefined;
}

export function createSubscriptionDrafts(
  options: SubscriptionDraftsOptions,
  kept: Collection<KeptSubscription>,
  known: KnownSubscriptions,
  build: SubscriptionBuild,
) {
  const check = createSubscriptionCheck(options);
  const access = createSubscriptionAccess(options);

  /** The other subscriptions of the tenant. */
  function listOthers(draft: Draft, { id, tenantId }: SubscriptionRef): Subscription[] {
    const others = draft.list(kept, tenantId).filter((entry) => entry.id !== id);
    return others.map(known.derive);
  }

  async function add(draft: Draft, input: SubscriptionInput, made: Maker): Promise<Pending<KeptSubscription>> {
    const { id, createdBy, boundTo } = made;
    access.reject(input, boundTo);
    rejectFrequentChecks(input, {}, boundTo);
    const tenantId = ownerOf(input);
    const same = draft.find(kept, id, tenantId);
    const kind = await check(input, draft);
    const isOther = (one: SubscriptionRef) => one.id === id && one.tenantId !== tenantId;
    if (same !== undefined || draft.list(kept).some(isOther) || kept.listDeleted().some(isOther)) {
      throw new PosthornError("conflict", `The id ${id} is taken. Choose another.`);
    }
    const others = listOthers(draft, { id, tenantId });
    rejectRival(input, others);
    rejectSameName(input.name, tenantId, others);
    rejectOthersNames(input, { boundTo, access, list: () => draft.list(kept, tenantId) });
    checkFallbacks(draft, input, kind, { tenantId, others });
    const counted = others.filter(({ managedBy }) => managedBy !== "contact");
    const usual = boundTo === undefined ? undefined : options.maxPerTenant;
    rejectOverQuota(options.findQuota?.(draft, tenantId) ?? usual, tenantId, counted.length);
    await rejectTemplates(input, kind, undefined, tenantId, options.examineTemplates);
    const credentialsBy = access.nameOf(boundTo);
    const isReused = kept.wasDeleted(id, tenantId);
    const facts = { id, tenantId, managedBy: "api", createdBy, credentialsBy, isReused } as const;
    const thing = build.fromInput(input, kind, facts);
    rejectHeld(draft, thing, undefined);
    return draft.put(kept, thing);
  }

  async function update(
    draft: Draft,
    entry: KeptEntry,
    input: SubscriptionInput,
    terms: UpdateTerms,
  ): Promise<Pending<KeptSubscription>> {
    access.reject(input, terms.boundTo);
    rejectFrequentChecks(input, entry.thing.settings, terms.boundTo);
    const kind = await check(input, draft);
    if (input.mode === "forward") rejectRival(input, listOthers(draft, entry));
    if (input.name !== entry.thing.name) rejectSameName(input.name, entry.tenantId, listOthers(draft, entry));
    const { boundTo } = terms;
    const before = entry.thing.settings;
    rejectOthersNames(input, { boundTo, access, before, list: () => draft.list(kept, entry.tenantId) });
    if (concernsFallback(input, entry.thing)) {
      const { tenantId, thing } = entry;
      checkFallbacks(draft, input, kind, { tenantId, others: listOthers(draft, entry), before: thing });
    }
    await rejectTemplates(input, kind, entry.thing.settings, entry.tenantId, options.examineTemplates);
    const credentialsBy = access.checkCredentials(entry.thing, input, terms);
    const thing = build.fromInput(input, kind, { ...entry.thing, managedBy: "api", credentialsBy }, entry.thing);
    const after = known.deriveWith(entry, thing, draft);
    if (after.name !== entry.thing.name || after.sharedTarget !== undefined) rejectNamed(draft, entry);
    rejectHeld(draft, thing, entry);
    notifyResumed(draft, entry, thing);
    if (thing.keys.secrets !== entry.thing.keys.secrets) terms.notifyRotation?.(draft, after, thing.keys);
    return draft.put(kept, thing);
  }

  function checkFallbacks(draft: Draft, input: SubscriptionInput, kind: DestinationKind, among: Among): void {
    const { tenantId, others, before } = among;
    const { target } = input;
    const shared = target && !isPresetName(target) ? options.findTarget?.(target, tenantId, draft) : undefined;
    rejectFallbacks(input, kind, { kinds: options.kinds, shared, others, before });
  }

  function rejectNamed(draft: Draft, entry: KeptEntry): void {
    const { name, sharedTarget, tenantId } = known.derive(entry);
    // A shared target with this name takes precedence over its own.
    if (sharedTarget !== undefined || options.findTarget?.(name, tenantId, draft) !== undefined) return;
    const source = options.findHolding?.(draft, tenantId).sources.find((one) => one.options["target"] === name);
    if (source !== undefined) throw targetOfSource(name, source);
  }

  /** Rejects retries that take longer than a source may hold the message, unless they already did before. */
  function rejectHeld(draft: Draft, thing: KeptSubscription, before: KeptEntry | undefined, isDeclared = false): void {
    const { id, tenantId } = thing;
    const one = known.deriveWith(before ?? { ...UNWRITTEN, id, tenantId, thing }, thing, draft);
    const target = one.sharedTarget ?? one.name;
    // The file may just have changed its target, and the retries with it.
    if (before !== undefined && !(isDeclared && one.sharedTarget !== undefined)) {
      const { retryPolicy, sharedTarget, name } = known.derive(before);
      const isSame = isDeepStrictEqual(retryPolicy, one.retryPolicy) && (sharedTarget ?? name) === target;
      if (isSame) return;
    }
    const problem = findHeldProblem(draft, one, [one, ...listOthers(draft, thing)]);
    if (problem === undefined) return;
    throw new PosthornError("invalid_field", `${problem.field}: ${problem.message}.`, { field: problem.field });
  }

  /** `all`: the subscriptions of its tenant, including itself. */
  function findHeldProblem(draft: Draft, one: Subscription, all: readonly Subscription[]): FieldProblem | undefined {
    const holding = options.findHolding?.(draft, one.tenantId);
    if (holding === undefined || holding.sources.length === 0) return undefined;
    const own = all.filter(({ sharedTarget }) => sharedTarget === undefined);
    const isOnly = holding.sharedTargets + own.length === 1;
    return checkHeld(one, holding.sources, { target: one.sharedTarget ?? one.name, isOnly })[0];
  }

  function rejectTarget(draft: Draft, target: TargetInput, only?: ManagedBy): void {
    const { name, tenant_id: tenantId = DEFAULT_TENANT } = target;
    const entries = draft.list(kept, tenantId);
    const users = entries.filter(
      ({ thing }) => thing.settings.target === name && (only ?? thing.managedBy) === thing.managedBy,
    );
    for (const entry of users) {
      const one = known.deriveAt(entry, target);
      if (isDeepStrictEqual(one.retryPolicy, known.derive(entry).retryPolicy)) continue;
      const problem = findHeldProblem(draft, one, entries.map(known.derive));
      if (problem === undefined) continue;
      throw new PosthornError("invalid_field", `preset: for the subscription "${one.name}": ${problem.message}.`, {
        field: "preset",
      });
    }
  }

  function notifyResumed(draft: Draft, entry: KeptEntry, thing: KeptSubscription): void {
    const { status } = entry.thing;
    if (status === "active" || thing.status !== "active") return;
    options.onResumed?.(draft, known.deriveWith(entry, thing, draft), status);
  }

  function getExpected(draft: Draft, { id, tenantId }: SubscriptionRef, ifMatch: string | undefined): KeptEntry {
    const entry = draft.get(kept, id, tenantId);
    checkIfMatch(ifMatch, entry);
    return entry;
  }

  async function put(draft: Draft, id: string, input: SubscriptionInput, terms: PutTerms) {
    const { boundTo, createdBy, ifMatch, notifyRotation } = terms;
    const found = draft.list(kept).find((one) => one.id === id);
    if (found === undefined) {
      checkIfMatch(ifMatch, undefined);
      return { pending: await add(draft, input, { id, createdBy, boundTo }), isNew: true };
    }
    // Subscriptions of other tenants are not found.
    if (boundTo !== undefined && found.tenantId !== boundTo) throw noSubscription(id);
    const entry = getExpected(draft, found, ifMatch);
    const { tenantId } = entry;
    rejectOtherOwner(input, entry);
    access.reject(entry.thing.settings, boundTo);
    rejectManaged(kept, entry);
    rejectOtherKind(input, entry.thing.settings);
    const { restored, carried } = restoreSecrets(input, entry, true);
    const all = { ...restored, tenant_id: tenantId };
    const pending = await update(draft, entry, all, { boundTo, carried, notifyRotation });
    return { pending, isNew: false };
  }

  async function change(
    draft: Draft,
    of: SubscriptionRef,
    given: SubscriptionChange,
    { boundTo, ifMatch, notifyRotation }: ChangeTerms = {},
  ) {
    const entry = getExpected(draft, of, ifMatch);
    access.reject(entry.thing.settings, boundTo);
    rejectManaged(kept, entry);
    if (given.kind !== undefined) rejectOtherKind(given, entry.thing.settings);
    const { restored, carried } = restoreSecrets(given, entry, false);
    const changed = mergeChange(entry.thing.settings, restored);
    access.reject(changed, boundTo);
    rejectOtherOwner(changed, entry);
    return update(draft, entry, changed, { boundTo, carried, notifyRotation });
  }

  /** A masked value that is sent back stands for the stored one, as long as the destination is the same. */
  function restoreSecrets<Given extends SubscriptionChange>(given: Given, { id, thing }: KeptEntry, isWhole: boolean) {
    const { settings } = thing;
    rejectUnknownKind(id, settings, options.kinds);
    const kind = options.kinds.findOf(settings) as DestinationKind;
    const [wanted, stored] = [settingsIn(given as SubscriptionInput, kind), settingsIn(settings, kind)];
    const carried = kind.secrets.findCarried(wanted, stored, isWhole);
    if (kind.isFlat !== true && given.destination === undefined) return { restored: given, carried };
    kind.secrets.refuseCarried(wanted, stored, isWhole);
    const restored = withSettings(given as SubscriptionInput, kind, kind.secrets.restore(wanted, stored)) as Given;
    return { restored, carried };
  }

  async function buildDeclared(
    draft: Draft,
    input: SubscriptionInput,
    key: SubscriptionRef & { by: Declarer },
    entry: KeptEntry | undefined,
  ): Promise<KeptSubscription> {
    if (entry !== undefined) rejectOtherKind(input, entry.thing.settings);
    const kind = await check(input, draft);
    await rejectTemplates(input, kind, entry?.thing.settings, key.tenantId, options.examineTemplates);
    // A status set by an operator or a failing destination stays; one that returned to the file starts as active.
    const returned = entry?.thing.managedBy === "former_config" ? { status: "active" as const } : {};
    const { by, ...ref } = key;
    const createdBy = entry === undefined ? by : entry.thing.createdBy;
    const isReused = kept.wasDeleted(ref.id, ref.tenantId);
    const facts = { ...ref, managedBy: by, createdBy, credentialsBy: access.nameOf(undefined), isReused };
    const thing = build.fromInput({ ...returned, ...input }, kind, facts, entry?.thing);
    rejectHeld(draft, thing, entry, by === "config");
    if (entry !== undefined) notifyResumed(draft, entry, thing);
    return thing;
  }

  return {
    add,
    change,
    put,
    /** Throws when it does not exist, or not in the expected version. */
    getExpected,
    /** Rejects a deletion while a source names its own target. */
    rejectNamed,
    /** Rejects a change of a shared target when the retries of its subscriptions would take too long. */
    rejectTarget,
    toDeclared(draft: Draft, input: SubscriptionInput, by: Declarer = "config"): DeclaredThing<KeptSubscription> {
      const tenantId = ownerOf(input);
      const id = stableId("sub", `${tenantId}\0${input.name}`);
      rejectSameName(input.name, tenantId, listOthers(draft, { id, tenantId }));
      return {
        id,
        name: input.name,
        tenantId,
        build: (entry) => buildDeclared(draft, input, { id, tenantId, by }, entry),
      };
    },
  };
}

function rejectOtherOwner(input: SubscriptionInput, { tenantId }: KeptEntry): void {
  const { tenant_id: given = tenantId, tenants = null } = input;
  const field =
    given !== tenantId ? "tenant_id" : tenants !== null && tenantId !== GATEWAY_TENANT ? "tenants" : undefined;
  if (field === undefined) return;
  throw new PosthornError("invalid_field", `${field}: it belongs to ${tenantId}, which cannot be changed.`, { field });
}

const UNWRITTEN = { seq: 0, version: 0, state: undefined, createdAt: 0, updatedAt: 0 };

/** Most subscriptions have no fallback and are none, so they need not be compared with the others. */
function concernsFallback({ events, fallback }: SubscriptionInput, { settings }: KeptSubscription): boolean {
  return events.length === 0 || settings.events.length === 0 || Boolean(fallback);
}

export function noSubscription(id: string): PosthornError {
  return new PosthornError("not_found", `There is no subscription ${id}.`);
}
