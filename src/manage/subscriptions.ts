import { formatSubscription, parseSubscription } from "../deliver/saved-state.ts";
import type { SubscriptionState } from "../deliver/subscription-state.ts";
import type { Clock, Random } from "../domain/clock.ts";
import { PosthornError } from "../domain/errors.ts";
import { DEFAULT_TENANT } from "../domain/event.ts";
import { stableId } from "../domain/ids.ts";
import type { SigningKeys } from "../domain/signing-keys.ts";
import type { Subscription, SubscriptionInput, SubscriptionStatus } from "../domain/subscription.ts";
import type { TargetInput } from "../domain/target.ts";
import { isPresetName } from "../domain/target-presets.ts";
import { declare, refuseManaged } from "../registry/declared.ts";
import type { Draft, Pending } from "../registry/draft.ts";
import { checkIfMatch } from "../registry/if-match.ts";
import type { Change, Entry } from "../registry/kind.ts";
import type { Once, Registry } from "../registry/registry.ts";
import type { Store } from "../store/store.ts";
import { refuseCarriedCredentials, restoreMasked } from "./masked-credentials.ts";
import { needsSealing, type Settings } from "./sealed-settings.ts";
import type { SecretBox } from "../registry/secret-box.ts";
import { createSubscriptionBuild, mergeChange, type SubscriptionChange } from "./subscription-build.ts";
import {
  createSubscriptionCheck,
  refuseOverQuota,
  refuseRival,
  refuseSameName,
  type SubscriptionCheckOptions,
} from "./subscription-checks.ts";
import { createSubscriptionKind, type KeptSubscription } from "./subscription-kind.ts";
import { toSubscription } from "./to-subscription.ts";

/** The subscriptions, in memory for the engine and in the store for good. */
export interface Subscriptions {
  find(seq: number): Subscription | undefined;
  findById(id: string, tenantId: string | undefined): Subscription | undefined;
  getById(id: string, tenantId: string | undefined): Subscription;
  /** By age; the same list as long as nothing changes. */
  list(tenantId: string | undefined): readonly Subscription[];
  /** How many a tenant has, as long as the draft is not written. */
  count(draft: Draft, tenantId: string): number;
  /** One of a tenant that sends to the shared target, as long as the draft is not written. */
  findByTarget(draft: Draft, target: string, tenantId: string): { id: string; name: string } | undefined;
  /** What the user set, for showing. */
  settingsOf(subscription: Subscription): Settings;
  /** What it signs with now. */
  keysOf(subscription: Subscription): SigningKeys;
  /** In wall time; undefined for one that is active. */
  heldSince(subscription: Subscription): number | undefined;
  /** Whether there was one of this id. */
  wasDeleted(id: string, tenantId: string | undefined): boolean;
  /** With an id of its own. */
  create(input: SubscriptionInput, options?: { createdBy?: string | undefined }): Promise<Subscription>;
  /** As `create`, once, where the request has an `Idempotency-Key`. */
  make(input: SubscriptionInput, options: MakeOptions): Promise<{ subscription: Subscription; isReplay: boolean }>;
  /**
   * Makes it, or all that is set becomes what is given; the secret stays when none is given. One that is not of the
   * tenant `boundTo` is not found.
   */
  put(
    id: string,
    input: SubscriptionInput,
    options: { boundTo?: string | undefined; createdBy?: string | undefined; ifMatch?: string | undefined },
  ): Promise<{ subscription: Subscription; isNew: boolean }>;
  change(of: SubscriptionRef, change: SubscriptionChange, ifMatch?: string): Promise<Subscription>;
  /** Written with what `tell` puts into the draft, which is called when that is a change. */
  setStatus(of: SubscriptionRef, status: SubscriptionStatus, options?: StatusOptions): Promise<Subscription>;
  /** As `setStatus`; nothing happens to one that is not active any more. */
  suspend(of: SubscriptionRef, tell?: Tell): Promise<void>;
  /** Written with what `toChanged` puts into the draft; the same keys are not written. */
  changeKeys(of: SubscriptionRef, toChanged: ToChangedKeys): Promise<Subscription>;
  /** Open deliveries are cancelled: at once when they are few, else by a job that is begun with the deletion. */
  remove(of: SubscriptionRef, ifMatch?: string): Promise<{ cancelled: number; jobId: string | undefined }>;
  saveState(subscription: Subscription, state: SubscriptionState): Promise<void>;
  findSavedState(seq: number): SubscriptionState | undefined;
  /** Takes over what the configuration declares, all or nothing; says which left it. */
  applyDeclared(declared: readonly SubscriptionInput[]): Promise<{ left: readonly string[] }>;
  /** Goes on with what a crash interrupted. */
  resume(): Promise<void>;
  /** What is declared of targets may have changed. */
  retarget(): void;
}

export type SubscriptionRef = Pick<Subscription, "id" | "tenantId">;

export interface MakeOptions {
  id?: string | undefined;
  createdBy?: string | undefined;
  once?: Once | undefined;
}

type Tell = (draft: Draft, current: Subscription) => void;

export interface StatusOptions {
  ifMatch?: string | undefined;
  tell?: Tell | undefined;
}

export type ToChangedKeys = (keys: SigningKeys, current: Subscription, draft: Draft) => SigningKeys;

export interface SubscriptionsOptions extends SubscriptionCheckOptions {
  registry: Registry;
  store: Pick<Store, "cancelLane" | "loadCounters" | "noteRecordStates" | "skipDeadHeads">;
  clock: Clock;
  random: Random;
  secretBox: SecretBox;
  createId: (prefix: "sub") => string;
  /** How many the tenant may have; undefined without a limit. */
  findQuota?: ((draft: Draft, tenantId: string) => number | undefined) | undefined;
  /** Those that were made, changed or deleted. */
  onChange: (subscriptions: readonly Subscription[]) => void;
  /** A change of its settings makes it active again. */
  onResumed?: ((draft: Draft, subscription: Subscription, from: SubscriptionStatus) => void) | undefined;
  /** The job that cancels the deliveries of one that the draft deletes. */
  cancelLater?: ((draft: Draft, subscription: Subscription, open: number) => { id: string }) | undefined;
  /** Whether that goes on for this one. */
  isCancelling?: ((seq: number) => boolean) | undefined;
}

type KeptEntry = Entry<KeptSubscription>;

/** So many are cancelled while the one who deletes waits. */
const MAX_CANCELLED_AT_ONCE = 500;

export async function openSubscriptions(options: SubscriptionsOptions): Promise<Subscriptions> {
  const { registry, store, clock } = options;
  const build = createSubscriptionBuild(options);
  const check = createSubscriptionCheck(options);
  const derived = new WeakMap<KeptEntry, Subscription>();
  const bySeq = new Map<number, Subscription>();
  const byId = new Map<string, Subscription>();
  const savedStates = new Map<number, SubscriptionState>();
  let listed: readonly Subscription[] | undefined;
  let isOpen = false;
  const kept = await registry.open(createSubscriptionKind(options.secretBox, take));
  await sealAll();
  isOpen = true;

  /** From versions that left the values of headers in clear. */
  async function sealAll(): Promise<void> {
    await registry.change(kept, (draft) => {
      for (const { thing } of kept.list()) {
        if (needsSealing(thing.sealed.settings)) draft.put(kept, build.seal(thing));
      }
    });
  }

  async function take(changes: readonly Change<KeptSubscription>[]): Promise<void> {
    const changed: Subscription[] = [];
    const skipping: Subscription[] = [];
    for (const { before, after } of changes) {
      const known = before && bySeq.get(before.seq);
      if (after === undefined) {
        if (known !== undefined) changed.push(forget(known));
        continue;
      }
      const subscription = remember(after);
      changed.push(subscription);
      if (known?.ordered === true && known.onDeadHead === "block" && subscription.onDeadHead === "skip") {
        skipping.push(subscription);
      }
    }
    if (!isOpen) return;
    options.onChange(changed);
    for (const { seq } of skipping) await store.skipDeadHeads(seq, clock.now());
    if (skipping.length > 0) options.onChange(skipping);
  }

  function remember(entry: KeptEntry): Subscription {
    const subscription = derive(entry);
    bySeq.set(entry.seq, subscription);
    byId.set(entry.id, subscription);
    if (!isOpen && entry.state !== undefined) savedStates.set(entry.seq, parseSubscription(entry.state, clock.now()));
    listed = undefined;
    return subscription;
  }

  function forget(subscription: Subscription): Subscription {
    bySeq.delete(subscription.seq);
    byId.delete(subscription.id);
    savedStates.delete(subscription.seq);
    listed = undefined;
    return subscription;
  }

  function derive(entry: KeptEntry): Subscription {
    let subscription = derived.get(entry);
    if (subscription === undefined) {
      subscription = toSubscription(entry, findShared(entry));
      derived.set(entry, subscription);
    }
    return subscription;
  }

  function findShared({ thing: { settings }, tenantId }: KeptEntry): TargetInput | undefined {
    const { target } = settings;
    return namesTarget(settings) ? options.findTarget?.(target as string, tenantId) : undefined;
  }

  function thingOf({ seq, id }: Subscription): KeptSubscription {
    const entry = kept.findBySeq(seq);
    if (entry === undefined) throw notFound(id);
    return entry.thing;
  }

  /** What the tenant has beside this one. */
  function listOthers(draft: Draft, { id, tenantId }: SubscriptionRef): Subscription[] {
    return draft
      .list(kept, tenantId)
      .filter((entry) => entry.id !== id)
      .map(derive);
  }

  async function add(
    draft: Draft,
    input: SubscriptionInput,
    { id, createdBy }: { id: string; createdBy: string | undefined },
  ): Promise<Pending<KeptSubscription>> {
    const tenantId = input.tenant_id ?? DEFAULT_TENANT;
    const known = draft.find(kept, id, tenantId);
    check(input, draft);
    const isOther = (one: SubscriptionRef) => one.id === id && one.tenantId !== tenantId;
    if (known !== undefined || draft.list(kept).some(isOther) || kept.listDeleted().some(isOther)) {
      throw new PosthornError("conflict", `The id ${id} is taken. Choose another.`);
    }
    const others = listOthers(draft, { id, tenantId });
    refuseRival(input, others);
    refuseSameName(input.name, tenantId, others);
    refuseOverQuota(options.findQuota?.(draft, tenantId), tenantId, others.length);
    return draft.put(kept, build.fromInput(input, { id, tenantId, managedBy: "api", createdBy }));
  }

  function update(draft: Draft, known: KeptEntry, input: SubscriptionInput): Pending<KeptSubscription> {
    check(input, draft);
    if (input.mode === "forward") refuseRival(input, listOthers(draft, known));
    if (input.name !== known.thing.name) refuseSameName(input.name, known.tenantId, listOthers(draft, known));
    const thing = build.fromInput(input, { ...known.thing, managedBy: "api" }, known.thing);
    tellResumed(draft, known, thing);
    return draft.put(kept, thing);
  }

  function tellResumed(draft: Draft, known: KeptEntry, thing: KeptSubscription): void {
    if (known.thing.status === "active" || thing.status !== "active") return;
    options.onResumed?.(
      draft,
      toSubscription({ ...known, thing }, findShared({ ...known, thing })),
      known.thing.status,
    );
  }

  /** As it was written: memory may be further already. */
  const shown = ({ entry }: Pick<Pending<KeptSubscription>, "entry">): Subscription => {
    const current = bySeq.get(entry.seq);
    return current?.version === entry.version ? current : derive(entry);
  };

  function getMeant(draft: Draft, { id, tenantId }: SubscriptionRef, ifMatch: string | undefined): KeptEntry {
    const known = draft.get(kept, id, tenantId);
    checkIfMatch(ifMatch, known);
    return known;
  }

  async function put(draft: Draft, id: string, input: SubscriptionInput, terms: Parameters<Subscriptions["put"]>[2]) {
    const { boundTo, createdBy, ifMatch } = terms;
    const found = draft.list(kept).find((one) => one.id === id);
    if (found === undefined) {
      checkIfMatch(ifMatch, undefined);
      return { pending: await add(draft, input, { id, createdBy }), isNew: true };
    }
    // Another tenant's is not found, here as everywhere.
    if (boundTo !== undefined && found.tenantId !== boundTo) throw notFound(id);
    const known = getMeant(draft, found, ifMatch);
    const { tenantId, thing } = known;
    if ((input.tenant_id ?? tenantId) !== tenantId) {
      throw new PosthornError("invalid_field", `tenant_id: it belongs to ${tenantId}, for good.`, {
        field: "tenant_id",
      });
    }
    refuseManaged(kept, known);
    refuseCarriedCredentials(input, thing.settings, true);
    const restored = restoreMasked(input, thing.settings);
    return { pending: update(draft, known, { ...restored, tenant_id: tenantId }), isNew: false };
  }

  async function make(input: SubscriptionInput, { id = options.createId("sub"), createdBy, once }: MakeOptions) {
    const made = await registry.make(kept, once, (draft) => add(draft, input, { id, createdBy }));
    return { subscription: shown(made), isReplay: made.isReplay };
  }

  async function setStatus(of: SubscriptionRef, status: SubscriptionStatus, { ifMatch, tell }: StatusOptions = {}) {
    const result = await registry.change(kept, (draft) => {
      const known = getMeant(draft, of, ifMatch);
      if (known.thing.status === status) return { entry: known };
      tell?.(draft, derive(known));
      return draft.put(kept, build.withStatus(known.thing, status));
    });
    return shown(result);
  }

  async function cancelOpen(seq: number): Promise<void> {
    while ((await store.cancelLane(seq, clock.now())) > 0);
  }

  async function countersOf(seq: number): Promise<{ open: number; cancelled: number }> {
    const { deliveries } = await store.loadCounters();
    const row = deliveries.find(({ subscriptionSeq }) => subscriptionSeq === seq);
    if (row === undefined) return { open: 0, cancelled: 0 };
    return { open: row.created - row.delivered - row.dead - row.cancelled, cancelled: row.cancelled };
  }

  function findById(id: string, tenantId: string | undefined): Subscription | undefined {
    const subscription = byId.get(id);
    return tenantId === undefined || tenantId === subscription?.tenantId ? subscription : undefined;
  }

  function listAll(): readonly Subscription[] {
    return (listed ??= [...bySeq.values()].sort((a, b) => a.seq - b.seq));
  }

  return {
    find: (seq) => bySeq.get(seq),
    findById,
    getById(id, tenantId) {
      const subscription = findById(id, tenantId);
      if (subscription === undefined) throw notFound(id);
      return subscription;
    },
    list: (tenantId) =>
      tenantId === undefined ? listAll() : listAll().filter((subscription) => subscription.tenantId === tenantId),
    count: (draft, tenantId) => draft.list(kept, tenantId).length,
    findByTarget: (draft, target, tenantId) =>
      draft.list(kept, tenantId).find(({ thing }) => thing.settings.target === target)?.thing,
    settingsOf: (subscription) => thingOf(subscription).settings,
    keysOf: (subscription) => thingOf(subscription).keys,
    heldSince: (subscription) => thingOf(subscription).heldSince,
    wasDeleted: (id, tenantId) =>
      kept.listDeleted().some((one) => one.id === id && (tenantId === undefined || one.tenantId === tenantId)),
    create: async (input, made = {}) => (await make(input, made)).subscription,
    make,
    async put(id, input, terms) {
      const { pending, isNew } = await registry.change(kept, (draft) => put(draft, id, input, terms));
      return { subscription: shown(pending), isNew };
    },
    async change(of, change, ifMatch) {
      const pending = await registry.change(kept, (draft) => {
        const known = getMeant(draft, of, ifMatch);
        refuseManaged(kept, known);
        const { settings } = known.thing;
        refuseCarriedCredentials(change, settings, false);
        return update(draft, known, mergeChange(settings, restoreMasked(change, settings)));
      });
      return shown(pending);
    },
    setStatus,
    async suspend({ id, tenantId }, tell) {
      await registry.change(kept, (draft) => {
        const known = draft.find(kept, id, tenantId);
        if (known?.thing.status !== "active") return;
        tell?.(draft, derive(known));
        draft.put(kept, build.withStatus(known.thing, "suspended"));
      });
    },
    async changeKeys({ id, tenantId }, toChanged) {
      const result = await registry.change(kept, (draft) => {
        const known = draft.get(kept, id, tenantId);
        const keys = toChanged(known.thing.keys, derive(known), draft);
        return keys === known.thing.keys ? { entry: known } : draft.put(kept, build.withKeys(known.thing, keys));
      });
      return shown(result);
    },
    async remove(of, ifMatch) {
      const { seq, before, job } = await registry.change(kept, async (draft) => {
        const known = getMeant(draft, of, ifMatch);
        refuseManaged(kept, known);
        const counters = await countersOf(known.seq);
        const isMany = counters.open > MAX_CANCELLED_AT_ONCE;
        draft.remove(kept, known.id, known.tenantId);
        const later = isMany ? options.cancelLater?.(draft, derive(known), counters.open) : undefined;
        return { seq: known.seq, before: counters, job: later };
      });
      if (job !== undefined) return { cancelled: before.open, jobId: job.id };
      await cancelOpen(seq);
      // Counted by the store: the scheduler, too, cancels what it finds of a subscription that is gone.
      return { cancelled: (await countersOf(seq)).cancelled - before.cancelled, jobId: undefined };
    },
    saveState: ({ seq }, state) => store.noteRecordStates([{ seq, state: formatSubscription(state) }]),
    findSavedState: (seq) => savedStates.get(seq),
    applyDeclared: (declared) =>
      registry.change(kept, async (draft) => {
        const things = declared.map((input) => {
          const tenantId = input.tenant_id ?? DEFAULT_TENANT;
          const id = stableId("sub", `${tenantId}\0${input.name}`);
          refuseSameName(input.name, tenantId, listOthers(draft, { id, tenantId }));
          return {
            id,
            tenantId,
            build: (known: KeptEntry | undefined) => buildDeclared(draft, input, { id, tenantId }, known),
          };
        });
        const left = await declare(draft, kept, things, build.toFormer);
        return { left: left.map(({ thing }) => thing.name) };
      }),
    retarget() {
      const sharing = kept.list().filter(({ thing }) => namesTarget(thing.settings));
      for (const entry of sharing) derived.delete(entry);
      options.onChange(sharing.map(remember));
    },
    async resume() {
      for (const { seq } of kept.listDeleted()) if (options.isCancelling?.(seq) !== true) await cancelOpen(seq);
      for (const subscription of listAll()) {
        if (!subscription.ordered || subscription.onDeadHead === "block") continue;
        // The store knows no settings: what it gave up at this start keeps its place.
        if ((await store.skipDeadHeads(subscription.seq, clock.now())) > 0) options.onChange([subscription]);
      }
    },
  };

  function buildDeclared(
    draft: Draft,
    input: SubscriptionInput,
    key: SubscriptionRef,
    known: KeptEntry | undefined,
  ): KeptSubscription {
    check(input, draft);
    // A status that an operator or a failing destination set stays; one that came back to the file starts anew.
    const returned = known?.thing.managedBy === "former_config" ? { status: "active" as const } : {};
    const createdBy = known === undefined ? "config" : known.thing.createdBy;
    const facts = { ...key, managedBy: "config" as const, createdBy };
    const thing = build.fromInput({ ...returned, ...input }, facts, known?.thing);
    if (known !== undefined) tellResumed(draft, known, thing);
    return thing;
  }
}

function namesTarget({ target }: Settings): boolean {
  return target !== undefined && target !== null && !isPresetName(target);
}

function notFound(id: string): PosthornError {
  return new PosthornError("not_found", `There is no subscription ${id}.`);
}
