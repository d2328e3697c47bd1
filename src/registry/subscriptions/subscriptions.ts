import type { Clock, Random } from "../../domain/clock.ts";
import { describeForwardOverlaps } from "../../domain/forward-rules.ts";
import type { SigningKeys } from "../../domain/signing-keys.ts";
import { presentDestination, settingsIn } from "../../deliver/senders/kind-settings.ts";
import type { DestinationKind } from "../../deliver/senders/sender.ts";
import type {
  ManagedBy,
  RetryPolicySpec,
  Subscription,
  SubscriptionInput,
  SubscriptionStatus,
} from "../../domain/subscription.ts";
import type { TargetInput } from "../../domain/target.ts";
import { declare, orDeclaredFault, refuseManaged, type DeclaredThing } from "../declared.ts";
import type { Draft } from "../draft.ts";
import { createKnownSubscriptions, type KeptEntry, type SubscriptionChanged } from "./known-subscriptions.ts";
import type { Once, Registry } from "../registry.ts";
import type { Change } from "../resource.ts";
import { needsSealing, type Settings } from "../sealed-settings.ts";
import type { SecretBox } from "../secret-box.ts";
import { createSubscriptionBuild, type SubscriptionChange } from "./subscription-build.ts";
import { usedAsFallback } from "./subscription-checks.ts";
import {
  createSubscriptionDrafts,
  noSubscription,
  type PutTerms,
  type SubscriptionDraftsOptions,
  type SubscriptionRef,
} from "./subscription-drafts.ts";
import { createSubscriptionResource, type KeptSubscription } from "./subscription-record.ts";

/** The subscriptions, in memory for the engine and in the store for good. */
export interface Subscriptions {
  find(seq: number): Subscription | undefined;
  findById(id: string, tenantId: string | undefined): Subscription | undefined;
  getById(id: string, tenantId: string | undefined): Subscription;
  /** What takes events while the target of this one is down. */
  findFallback(subscription: Subscription): Subscription | undefined;
  /** The one that has this as its fallback. */
  findForward(fallback: Subscription): Subscription | undefined;
  /** By age; the same list as long as nothing changes. */
  list(tenantId: string | undefined): readonly Subscription[];
  /** How many a tenant has, as long as the draft is not written. */
  count(draft: Draft, tenantId: string): number;
  /** One of a tenant that fits, as long as the draft is not written. */
  findIn(
    draft: Draft,
    tenantId: string,
    fits: (subscription: Pick<KeptSubscription, "id" | "name" | "settings">) => boolean,
  ): { id: string; name: string } | undefined;
  /** What the user set, for showing. */
  settingsOf(subscription: Subscription): Settings;
  /** What of it is shown of the destination: by the kind's own names, or in `destination`. */
  destinationOf(subscription: Subscription): Record<string, unknown>;
  /** What will not be as its owner may think, in sentences; beside all others of its tenant, or those given. */
  warningsOf(subscription: Subscription, others?: readonly Subscription[]): readonly string[];
  /** Whether only keys that are bound to no tenant may configure such a one. */
  isForOperators(input: SubscriptionInput): boolean;
  /** What it signs with now. */
  keysOf(subscription: Subscription): SigningKeys;
  /** In wall time; undefined for one that is active. */
  heldSince(subscription: Subscription): number | undefined;
  /** What was noted beside its record, as of its last change or the start. */
  findState(seq: number): string | undefined;
  /** Those that were, by the numbers of their lanes. */
  listDeleted(): readonly { seq: number }[];
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
  put(id: string, input: SubscriptionInput, terms: PutTerms): Promise<{ subscription: Subscription; isNew: boolean }>;
  change(of: SubscriptionRef, change: SubscriptionChange, ifMatch?: string): Promise<Subscription>;
  /** Written with what `tell` puts into the draft, which is called when that is a change. */
  setStatus(of: SubscriptionRef, status: SubscriptionStatus, options?: StatusOptions): Promise<Subscription>;
  /** As `setStatus`; nothing happens to one that is not active any more. */
  suspend(of: SubscriptionRef, tell?: Tell): Promise<void>;
  /** Written with what `toChanged` puts into the draft; the same keys are not written. */
  changeKeys(of: SubscriptionRef, toChanged: ToChangedKeys): Promise<Subscription>;
  /** Written with what `plan` puts into the draft; answers what that returned. */
  remove<Result>(of: SubscriptionRef, ifMatch: string | undefined, plan: PlanRemoval<Result>): Promise<Result>;
  /** Takes over what the configuration declares, all or nothing; says which left it. */
  applyDeclared(declared: readonly SubscriptionInput[]): Promise<{ left: readonly string[] }>;
  /**
   * Takes over what the contacts of a tenant are told by. One that is refused is told of and left out; one that is not
   * wanted any more does nothing, and may be deleted.
   */
  applyContacts(
    tenantId: string,
    inputs: readonly SubscriptionInput[],
    onRefused: (name: string, error: unknown) => void,
  ): Promise<void>;
  /** Refuses what would be set of a target, for what becomes of those that send to it: all, or those managed so. */
  checkTarget(draft: Draft, target: TargetInput, only?: ManagedBy): void;
  /** What is declared of targets may have changed. */
  retarget(): Promise<void>;
}

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
export type PlanRemoval<Result> = (draft: Draft, current: Subscription) => Promise<Result>;

export interface SubscriptionsOptions extends SubscriptionDraftsOptions {
  registry: Registry;
  clock: Clock;
  random: Random;
  secretBox: SecretBox;
  createId: (prefix: "sub") => string;
  /** Whether the configuration leaves a kind to the operator. */
  isForOperators?: ((kind: DestinationKind) => boolean) | undefined;
  /** What is to be said of settings of a destination that may be used. */
  warnOfDestination?: ((kind: DestinationKind, settings: object) => readonly string[]) | undefined;
  /** Of subscriptions that set none. */
  retryPolicy?: RetryPolicySpec | undefined;
  /** Between two probes of a destination that is down; as usual when not given. */
  maxProbeMs?: number | undefined;
  /** Nothing is sent, because this release does not know its kind of destination. */
  onHeld?: ((subscription: Subscription, why: string) => void) | undefined;
  /** After memory shows it. Not called for what is there at the start. */
  onChange: (changes: readonly SubscriptionChanged[]) => void | Promise<void>;
}

export async function openSubscriptions(options: SubscriptionsOptions): Promise<Subscriptions> {
  const { registry, kinds } = options;
  const build = createSubscriptionBuild(options);
  const known = createKnownSubscriptions(options, options.findTarget);
  let isOpen = false;
  const kept = await registry.open(createSubscriptionResource(options.secretBox, kinds, take));
  const drafts = createSubscriptionDrafts(options, kept, known, build);
  await sealAll();
  isOpen = true;
  for (const subscription of known.list(undefined)) tellHeld(subscription);

  /** From versions that left the values of headers in clear. */
  async function sealAll(): Promise<void> {
    await registry.change(kept, (draft) => {
      for (const { thing } of kept.list()) {
        const kind = kinds.findOf(thing.settings);
        if (kind !== undefined && needsSealing(thing.sealed.settings, kind)) draft.put(kept, build.seal(thing, kind));
      }
    });
  }

  async function take(changes: readonly Change<KeptSubscription>[]): Promise<void> {
    const changed = changes.map(known.take);
    if (!isOpen) return;
    for (const { before, after } of changed) if (before?.heldBecause !== after?.heldBecause) tellHeld(after);
    await options.onChange(changed);
  }

  function tellHeld(subscription: Subscription | undefined): void {
    if (subscription?.heldBecause !== undefined) options.onHeld?.(subscription, subscription.heldBecause);
  }

  function thingOf({ seq, id }: Subscription): KeptSubscription {
    const entry = kept.findBySeq(seq);
    if (entry === undefined) throw noSubscription(id);
    return entry.thing;
  }

  /** As it was written: memory may be further already. */
  function shown(entry: KeptEntry): Subscription {
    const current = known.find(entry.seq);
    return current?.version === entry.version ? current : known.derive(entry);
  }

  async function make(input: SubscriptionInput, { id = options.createId("sub"), createdBy, once }: MakeOptions) {
    const made = await registry.make(kept, once, (draft) => drafts.add(draft, input, { id, createdBy }));
    return { subscription: shown(made.entry), isReplay: made.isReplay };
  }

  async function setStatus(of: SubscriptionRef, status: SubscriptionStatus, { ifMatch, tell }: StatusOptions = {}) {
    const result = await registry.changeOne(kept, (draft) => {
      const entry = drafts.getMeant(draft, of, ifMatch);
      if (entry.thing.status === status) return { entry };
      tell?.(draft, known.derive(entry));
      return draft.put(kept, build.withStatus(entry.thing, status));
    });
    return shown(result);
  }

  return {
    find: known.find,
    findById: known.findById,
    getById(id, tenantId) {
      const subscription = known.findById(id, tenantId);
      if (subscription === undefined) throw noSubscription(id);
      return subscription;
    },
    findFallback: known.findFallback,
    findForward: known.findForward,
    list: known.list,
    count: (draft, tenantId) => draft.list(kept, tenantId).filter(({ thing }) => thing.managedBy !== "contact").length,
    findIn: (draft, tenantId, fits) => draft.list(kept, tenantId).find(({ thing }) => fits(thing))?.thing,
    settingsOf: (subscription) => thingOf(subscription).settings,
    destinationOf: (subscription) => presentDestination(thingOf(subscription).settings, kinds),
    warningsOf(subscription, others = known.list(subscription.tenantId)) {
      const { settings } = thingOf(subscription);
      const kind = kinds.findOf(settings);
      const overlaps = describeForwardOverlaps(subscription, others);
      if (kind === undefined) return overlaps;
      return [...overlaps, ...(options.warnOfDestination?.(kind, settingsIn(settings, kind)) ?? [])];
    },
    isForOperators(input) {
      const kind = kinds.findOf(input);
      if (kind === undefined) return false;
      if (kind.isForOperators === true || options.isForOperators?.(kind) === true) return true;
      return kind.isForOperatorsWith?.(settingsIn(input, kind)) === true;
    },
    keysOf: (subscription) => thingOf(subscription).keys,
    heldSince: (subscription) => thingOf(subscription).heldSince,
    findState: (seq) => kept.findBySeq(seq)?.state,
    listDeleted: kept.listDeleted,
    wasDeleted: (id, tenantId) =>
      kept.listDeleted().some((one) => one.id === id && (tenantId === undefined || one.tenantId === tenantId)),
    create: async (input, made = {}) => (await make(input, made)).subscription,
    make,
    async put(id, input, terms) {
      const { entry, isNew } = await registry.put(kept, (draft) => drafts.put(draft, id, input, terms));
      return { subscription: shown(entry), isNew };
    },
    async change(of, change, ifMatch) {
      return shown(await registry.changeOne(kept, (draft) => drafts.change(draft, of, change, ifMatch)));
    },
    setStatus,
    async suspend({ id, tenantId }, tell) {
      await registry.change(kept, (draft) => {
        const entry = draft.find(kept, id, tenantId);
        if (entry?.thing.status !== "active") return;
        tell?.(draft, known.derive(entry));
        draft.put(kept, build.withStatus(entry.thing, "suspended"));
      });
    },
    async changeKeys({ id, tenantId }, toChanged) {
      const result = await registry.changeOne(kept, (draft) => {
        const entry = draft.get(kept, id, tenantId);
        const keys = toChanged(entry.thing.keys, known.derive(entry), draft);
        return keys === entry.thing.keys ? { entry } : draft.put(kept, build.withKeys(entry.thing, keys));
      });
      return shown(result);
    },
    remove: (of, ifMatch, plan) =>
      registry.change(kept, async (draft) => {
        const entry = drafts.getMeant(draft, of, ifMatch);
        refuseManaged(kept, entry);
        const user = draft.list(kept, entry.tenantId).find((one) => one.thing.settings.fallback === entry.thing.name);
        if (user !== undefined) throw usedAsFallback(entry.thing.name, user.thing);
        drafts.refuseNamed(draft, entry);
        draft.remove(kept, entry.id, entry.tenantId);
        return plan(draft, known.derive(entry));
      }),
    applyDeclared: (declared) =>
      registry.change(kept, async (draft) => {
        const things = await Promise.all(
          declared.map((input) => orDeclaredFault("subscription", input.name, () => drafts.toDeclared(draft, input))),
        );
        const left = await declare(draft, kept, things, build.toFormer);
        return { left: left.map(({ thing }) => thing.name) };
      }),
    async applyContacts(tenantId, inputs, onRefused) {
      const refused = new Map<string, unknown>();
      await registry.change(kept, async (draft) => {
        refused.clear();
        const things: DeclaredThing<KeptSubscription>[] = [];
        for (const input of inputs) {
          try {
            const { id, build: toThing } = drafts.toDeclared(draft, input, "contact");
            const thing = await toThing(draft.find(kept, id, tenantId));
            things.push({ id, tenantId, build: () => thing });
          } catch (error) {
            refused.set(input.name, error);
          }
        }
        await declare(draft, kept, things, build.toFormer, { managedBy: "contact", tenantId });
      });
      for (const [name, error] of refused) onRefused(name, error);
    },
    checkTarget: drafts.refuseTarget,
    async retarget() {
      await options.onChange(known.retarget(kept.list()));
    },
  };
}
