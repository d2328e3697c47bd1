import { isDeepStrictEqual } from "node:util";
import { settingsIn, withSettings } from "../../destinations/kinds.ts";
import type { DestinationKind } from "../../destinations/destination-kind.ts";
import { invalidField, PosthornError } from "../../model/errors.ts";
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
import type { FieldProblem } from "../../model/subscription-rules.ts";
import { type Collection, checkIfMatch, rejectProblems } from "../resource.ts";
import { rejectManaged, type DeclaredThing } from "../declared.ts";
import { UNWRITTEN, type Draft, type Pending } from "../draft.ts";
import {
  rejectFrequentChecks,
  type SubscriptionAccess,
  type SubscriptionAccessOptions,
} from "./subscription-access.ts";
import { targetOfSource } from "../sources/source-checks.ts";
import type { KeptEntry, KnownSubscriptions } from "./known-subscriptions.ts";
import {
  mergeChange,
  type SubscriptionRecords,
  type SubscriptionChange,
  type KeptSubscription,
} from "./subscription-record.ts";
import {
  checkInput,
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

/** The configuration, or a contact of the tenant. */
export type Declarer = "config" | "contact";

export type SubscriptionRef = Pick<Subscription, "id" | "tenantId">;

/** Who asks for a change, and what must hold for it. */
export interface ChangeTerms {
  /** The tenant of the caller's key; undefined for operators. */
  boundTo?: string | undefined;
  ifMatch?: string | undefined;
  /** The id of the key that creates it. */
  createdBy?: string | undefined;
  notifyRotation?: NotifyRotation | undefined;
}

/** Called when the change begins a rotation of the secret; may add to the draft. */
export type NotifyRotation = (draft: Draft, subscription: Subscription, keys: SigningKeys) => void;

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

/** Checks the wanted state of a subscription against all others and puts it into the draft. */
export function createSubscriptionDrafts(
  options: SubscriptionDraftsOptions,
  parts: {
    kept: Collection<KeptSubscription>;
    known: KnownSubscriptions;
    records: SubscriptionRecords;
    access: SubscriptionAccess;
  },
) {
  const { kept, known, records, access } = parts;

  /** The other subscriptions of the tenant. */
  function listOthers(draft: Draft, { id, tenantId }: SubscriptionRef): Subscription[] {
    const others = draft.list(kept, tenantId).filter((entry) => entry.id !== id);
    return others.map(known.derive);
  }

  async function add(
    draft: Draft,
    input: SubscriptionInput,
    { id, createdBy, boundTo }: ChangeTerms & { id: string },
  ): Promise<Pending<KeptSubscription>> {
    access.reject(input, boundTo);
    rejectFrequentChecks(input, {}, boundTo);
    const tenantId = ownerOf(input);
    const same = draft.find(kept, id, tenantId);
    const kind = await checkInput(options, input, draft);
    const isOther = (one: SubscriptionRef) => one.id === id && one.tenantId !== tenantId;
    if (same !== undefined || draft.list(kept).some(isOther) || kept.listDeleted().some(isOther)) {
      throw new PosthornError("conflict", `The id ${id} is taken. Choose another.`);
    }
    const others = listOthers(draft, { id, tenantId });
    rejectRival(input, others);
    rejectSameName(input.name, tenantId, others);
    rejectOthersNames(input, { boundTo, access, list: () => draft.list(kept, tenantId) });
    rejectFallbacks(options, input, kind, { draft, others });
    const counted = others.filter(({ managedBy }) => managedBy !== "contact");
    const usual = boundTo === undefined ? undefined : options.maxPerTenant;
    rejectOverQuota(options.findQuota?.(draft, tenantId) ?? usual, tenantId, counted.length);
    await rejectTemplates(input, kind, undefined, tenantId, options.examineTemplates);
    const credentialsBy = access.nameOf(boundTo);
    const isReused = kept.wasDeleted(id, tenantId);
    const facts = { id, tenantId, managedBy: "api", createdBy, credentialsBy, isReused } as const;
    const thing = records.fromInput(input, kind, facts);
    rejectHeld(draft, thing, undefined);
    return draft.put(kept, thing);
  }

  async function update(
    draft: Draft,
    entry: KeptEntry,
    input: SubscriptionInput,
    { boundTo, notifyRotation }: ChangeTerms,
    carried: string | undefined,
  ): Promise<Pending<KeptSubscription>> {
    const before = entry.thing;
    access.reject(input, boundTo);
    rejectFrequentChecks(input, before.settings, boundTo);
    const kind = await checkInput(options, input, draft);
    if (input.mode === "forward") rejectRival(input, listOthers(draft, entry));
    if (input.name !== before.name) rejectSameName(input.name, entry.tenantId, listOthers(draft, entry));
    const list = () => draft.list(kept, entry.tenantId);
    rejectOthersNames(input, { boundTo, access, before: before.settings, list });
    if (concernsFallback(input, before)) {
      rejectFallbacks(options, input, kind, { draft, others: listOthers(draft, entry), before });
    }
    await rejectTemplates(input, kind, before.settings, entry.tenantId, options.examineTemplates);
    const credentialsBy = access.checkCredentials(before, input, { boundTo, carried });
    const thing = records.fromInput(input, kind, { ...before, managedBy: "api", credentialsBy }, before);
    const after = known.deriveWith(entry, thing, draft);
    if (after.name !== before.name || after.sharedTarget !== undefined) rejectNamed(draft, entry);
    rejectHeld(draft, thing, entry);
    notifyResumed(draft, entry, thing);
    if (thing.keys.secrets !== before.keys.secrets) notifyRotation?.(draft, after, thing.keys);
    return draft.put(kept, thing);
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
    rejectProblems(checkHolding(draft, one, [one, ...listOthers(draft, thing)]), ".");
  }

  /** `all`: the subscriptions of its tenant, including itself. */
  function checkHolding(draft: Draft, one: Subscription, all: readonly Subscription[]): readonly FieldProblem[] {
    const holding = options.findHolding?.(draft, one.tenantId);
    if (holding === undefined || holding.sources.length === 0) return [];
    const own = all.filter(({ sharedTarget }) => sharedTarget === undefined);
    const isOnly = holding.sharedTargets + own.length === 1;
    return checkHeld(one, holding.sources, { target: one.sharedTarget ?? one.name, isOnly });
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
      const [problem] = checkHolding(draft, one, entries.map(known.derive));
      if (problem === undefined) continue;
      throw invalidField("preset", `preset: for the subscription "${one.name}": ${problem.message}.`);
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

  async function put(draft: Draft, id: string, input: SubscriptionInput, terms: ChangeTerms) {
    const { boundTo, ifMatch } = terms;
    const found = draft.list(kept).find((one) => one.id === id);
    if (found === undefined) {
      checkIfMatch(ifMatch, undefined);
      return add(draft, input, { ...terms, id });
    }
    // Subscriptions of other tenants are not found.
    if (boundTo !== undefined && found.tenantId !== boundTo) throw noSubscription(id);
    const entry = getExpected(draft, found, ifMatch);
    rejectOtherOwner(input, entry);
    access.reject(entry.thing.settings, boundTo);
    rejectManaged(kept, entry);
    rejectOtherKind(input, entry.thing.settings);
    const { restored, carried } = restoreSecrets(input, entry, true);
    return update(draft, entry, { ...restored, tenant_id: entry.tenantId }, terms, carried);
  }

  async function change(draft: Draft, of: SubscriptionRef, given: SubscriptionChange, terms: ChangeTerms = {}) {
    const { boundTo } = terms;
    const entry = getExpected(draft, of, terms.ifMatch);
    access.reject(entry.thing.settings, boundTo);
    rejectManaged(kept, entry);
    if (given.kind !== undefined) rejectOtherKind(given, entry.thing.settings);
    const { restored, carried } = restoreSecrets(given, entry, false);
    const changed = mergeChange(entry.thing.settings, restored);
    access.reject(changed, boundTo);
    rejectOtherOwner(changed, entry);
    return update(draft, entry, changed, terms, carried);
  }

  /** A masked value that is sent back stands for the stored one, as long as the destination is the same. */
  function restoreSecrets<Given extends SubscriptionChange>(given: Given, { id, thing }: KeptEntry, isWhole: boolean) {
    const { settings } = thing;
    rejectUnknownKind(id, settings, options.kinds);
    const kind = options.kinds.findOf(settings) as DestinationKind;
    const [wanted, stored] = [settingsIn(given as SubscriptionInput, kind), settingsIn(settings, kind)];
    const carried = kind.secrets.findCarried(wanted, stored, isWhole);
    if (kind.isFlat !== true && given.destination === undefined) return { restored: given, carried };
    kind.secrets.rejectCarried(wanted, stored, isWhole);
    const restored = withSettings(given as SubscriptionInput, kind, kind.secrets.restore(wanted, stored)) as Given;
    return { restored, carried };
  }

  async function buildDeclared(
    draft: Draft,
    input: SubscriptionInput,
    { id, tenantId, by }: SubscriptionRef & { by: Declarer },
    entry: KeptEntry | undefined,
  ): Promise<KeptSubscription> {
    if (entry !== undefined) rejectOtherKind(input, entry.thing.settings);
    const kind = await checkInput(options, input, draft);
    await rejectTemplates(input, kind, entry?.thing.settings, tenantId, options.examineTemplates);
    // A status set by an operator or a failing destination stays; one that returned to the file starts as active.
    const returned = entry?.thing.managedBy === "former_config" ? { status: "active" as const } : {};
    const createdBy = entry === undefined ? by : entry.thing.createdBy;
    const isReused = kept.wasDeleted(id, tenantId);
    const facts = { id, tenantId, managedBy: by, createdBy, credentialsBy: access.nameOf(undefined), isReused };
    const thing = records.fromInput({ ...returned, ...input }, kind, facts, entry?.thing);
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
  throw invalidField(field, `${field}: it belongs to ${tenantId}, which cannot be changed.`);
}

/** Most subscriptions have no fallback and are none, so they need not be compared with the others. */
function concernsFallback({ events, fallback }: SubscriptionInput, { settings }: KeptSubscription): boolean {
  return events.length === 0 || settings.events.length === 0 || Boolean(fallback);
}

export function noSubscription(id: string): PosthornError {
  return new PosthornError("not_found", `There is no subscription ${id}.`);
}
