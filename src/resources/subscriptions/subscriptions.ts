import type { Clock, Random } from "../../model/clock.ts";
import { warnOfFallback, describeForwardOverlaps } from "../../model/forward-rules.ts";
import type { SigningKeys } from "../../model/signing-keys.ts";
import { presentDestination, settingsIn, toQueueKinds } from "../../destinations/kinds.ts";
import type { DestinationKind } from "../../destinations/destination-kind.ts";
import {
  ownerOf,
  type Subscription,
  type SubscriptionInput,
  type SubscriptionStatus,
} from "../../model/subscription.ts";
import { declare, orDeclaredFault, rejectManaged, type DeclaredThing } from "../declared.ts";
import type { Draft } from "../draft.ts";
import {
  createKnownSubscriptions,
  type KeptEntry,
  type SubscriptionChanged,
  type UsualSettings,
} from "./known-subscriptions.ts";
import type { Once, Registry } from "../registry.ts";
import type { Change } from "../resource.ts";
import {
  type Settings,
  createSubscriptionRecords,
  type SubscriptionChange,
  type KeptSubscription,
} from "./subscription-record.ts";
import type { SecretBox } from "../secret-box.ts";
import { createSubscriptionAccess, type SubscriptionAction } from "./subscription-access.ts";
import { usedAsFallback, rejectTemplates } from "./subscription-checks.ts";
import {
  createSubscriptionDrafts,
  noSubscription,
  type ChangeTerms,
  type SubscriptionDraftsOptions,
  type SubscriptionRef,
} from "./subscription-drafts.ts";

/** The subscriptions, kept in memory for the engine and in the store. */
export type Subscriptions = Awaited<ReturnType<typeof openSubscriptions>>;

export interface MakeOptions extends Pick<ChangeTerms, "createdBy" | "boundTo"> {
  id?: string | undefined;
  once?: Once | undefined;
}

type Notify = (draft: Draft, current: Subscription) => void;

export type ToChangedKeys = (keys: SigningKeys, current: Subscription, draft: Draft) => SigningKeys;
export type PlanRemoval<Result> = (draft: Draft, current: Subscription) => Promise<Result>;

export async function openSubscriptions(
  options: SubscriptionDraftsOptions &
    UsualSettings & {
      registry: Registry;
      clock: Clock;
      random: Random;
      secretBox: SecretBox;
      createId: (prefix: "sub") => string;
      /** Warnings about settings of an allowed destination. */
      warnOfDestination?: ((kind: DestinationKind, settings: object) => readonly string[]) | undefined;
      /** Called when nothing is sent because this release does not know the kind of destination. */
      onHeld?: ((subscription: Subscription, why: string) => void) | undefined;
      /** Called after memory shows a change; not called for what exists at the start. */
      onChange: (changes: readonly SubscriptionChanged[]) => void | Promise<void>;
    },
) {
  const { registry, kinds } = options;
  const access = createSubscriptionAccess(options);
  const records = createSubscriptionRecords({ ...options, access, onChange: take });
  const known = createKnownSubscriptions(options, options.findTarget);
  let isOpen = false;
  const kept = await registry.open(records.resource);
  const drafts = createSubscriptionDrafts(options, { kept, known, records, access });
  isOpen = true;
  for (const subscription of known.list(undefined)) notifyHeld(subscription);

  async function take(changes: readonly Change<KeptSubscription>[]): Promise<void> {
    const changed = changes.map(known.take);
    if (!isOpen) return;
    for (const { before, after } of changed) if (before?.heldBecause !== after?.heldBecause) notifyHeld(after);
    await options.onChange(changed);
  }

  function notifyHeld(subscription: Subscription | undefined): void {
    if (subscription?.heldBecause !== undefined) options.onHeld?.(subscription, subscription.heldBecause);
  }

  function thingOf({ seq, id }: Subscription): KeptSubscription {
    const entry = kept.findBySeq(seq);
    if (entry === undefined) throw noSubscription(id);
    return entry.thing;
  }

  /** The written state: memory may already be newer. */
  function shown(entry: KeptEntry): Subscription {
    const current = known.find(entry.seq);
    return current?.version === entry.version ? current : known.derive(entry);
  }

  /**
   * Changes are made in turn, and slow templates must not hold the turn of others: their result is known when it comes.
   */
  async function examineAhead(given: SubscriptionChange, tenantId: string, stored?: Settings): Promise<void> {
    const kind = kinds.findOf({ ...stored, ...given });
    if (kind === undefined) return;
    const input = { ...stored, ...given } as SubscriptionInput;
    // What is wrong with it is said in its turn.
    await rejectTemplates(input, kind, stored, tenantId, options.examineTemplates).catch(() => undefined);
  }

  async function make(input: SubscriptionInput, { id = options.createId("sub"), once, ...by }: MakeOptions) {
    await examineAhead(input, ownerOf(input));
    const made = await registry.make(kept, once, (draft) => drafts.add(draft, input, { id, ...by }));
    return { subscription: shown(made.entry), isReplay: made.isReplay };
  }

  /**
   * Records when a change is in effect that ended the use of the operator's credentials. It is not part of the change, but
   * its caller gets the version of both.
   */
  async function recordInEffect(entry: KeptEntry): Promise<KeptEntry> {
    if (records.withoutOperator(entry.thing) === entry.thing) return entry;
    return registry.changeOne(kept, (draft) => {
      const current = draft.find(kept, entry.id, entry.tenantId);
      if (current === undefined) return { entry };
      const thing = records.withoutOperator(current.thing);
      return thing === current.thing ? { entry: current } : draft.put(kept, thing);
    });
  }

  async function setStatus(
    of: SubscriptionRef,
    status: SubscriptionStatus,
    { ifMatch, notify }: { ifMatch?: string | undefined; notify?: Notify | undefined } = {},
  ) {
    const result = await registry.changeOne(kept, (draft) => {
      const entry = drafts.getExpected(draft, of, ifMatch);
      if (entry.thing.status === status) return { entry };
      notify?.(draft, known.derive(entry));
      return draft.put(kept, records.withStatus(entry.thing, status));
    });
    return shown(result);
  }

  function getById(id: string, tenantId: string | undefined): Subscription {
    const subscription = known.findById(id, tenantId);
    if (subscription === undefined) throw noSubscription(id);
    return subscription;
  }

  return {
    find: known.find,
    findById: known.findById,
    getById,
    /** As `getById`; throws `forbidden` when a caller that is bound to the tenant `boundTo` may not do this with it. */
    getFor(
      act: SubscriptionAction,
      id: string,
      { tenantId, boundTo }: { tenantId: string | undefined; boundTo: string | undefined },
    ): Subscription {
      const subscription = getById(id, tenantId);
      access.rejectAction(act, thingOf(subscription), boundTo);
      return subscription;
    },
    /** What `getFor` lets a caller do that is bound to this tenant, or to none. */
    rightsOf: (subscription: Subscription, boundTo: string | undefined) =>
      access.rightsOf(thingOf(subscription), boundTo),
    /** The subscription that gets the events while the target of this one is down. */
    findFallback: known.findFallback,
    /** The subscription that has this one as its fallback. */
    findForward: known.findForward,
    /** The subscription that had it, in this run: deliveries of it may still be there. */
    findFormerForward: known.findFormerForward,
    /** Sorted by age; the same array until something changes. */
    list: known.list,
    /** How many a tenant has; the number must not change until the draft is written. */
    count: (draft: Draft, tenantId: string) =>
      draft.list(kept, tenantId).filter(({ thing }) => thing.managedBy !== "contact").length,
    /** A subscription of the tenant that fits; it must not change until the draft is written. */
    findIn: (
      draft: Draft,
      tenantId: string,
      fits: (subscription: Pick<KeptSubscription, "id" | "name" | "settings">) => boolean,
    ) => draft.list(kept, tenantId).find(({ thing }) => fits(thing))?.thing,
    /** The user's settings, for showing. */
    settingsOf: (subscription: Subscription) => thingOf(subscription).settings,
    /** The visible settings of the destination: by the kind's own names, or in `destination`. */
    destinationOf: (subscription: Subscription) => presentDestination(thingOf(subscription).settings, kinds),
    /** Who gave the credentials in its settings; undefined when it has none. */
    credentialsByOf: (subscription: Subscription) => access.ownerOf(thingOf(subscription)),
    /**
     * What the destination answered to attempts that began by this time is not for a caller that is bound to the tenant
     * `boundTo`: they had credentials of the operator. Of a deleted subscription nobody can notify, so it is all of them.
     */
    answersHiddenUntil(seq: number, boundTo: string | undefined): number {
      if (boundTo === undefined) return -Infinity;
      const thing = kept.findBySeq(seq)?.thing;
      if (thing === undefined || access.ownerOf(thing) === "operator") return Infinity;
      return thing.operatorsUntil ?? -Infinity;
    },
    /** Warnings about surprising settings, as sentences; compared with all others of its tenant, or the given ones. */
    warningsOf(
      subscription: Subscription,
      others: readonly Subscription[] = known.list(subscription.tenantId),
    ): readonly string[] {
      const { settings } = thingOf(subscription);
      const kind = kinds.findOf(settings);
      const overlaps = describeForwardOverlaps(subscription, others);
      if (kind === undefined) return overlaps;
      return [
        ...overlaps,
        ...warnOfFallback({ ...settings, kind: kind.name }, toQueueKinds(kinds)),
        ...(options.warnOfDestination?.(kind, settingsIn(settings, kind)) ?? []),
      ];
    },
    /** The keys that it signs with now. */
    keysOf: (subscription: Subscription) => thingOf(subscription).keys,
    /** In wall time; undefined while it is active. */
    heldSince: (subscription: Subscription) => thingOf(subscription).heldSince,
    /** The state recorded beside its record, as of its last change or the start. */
    findState: (seq: number) => kept.findBySeq(seq)?.state,
    /** Deleted subscriptions, by the numbers of their lanes. */
    listDeleted: kept.listDeleted,
    /** Whether a subscription with this id was deleted. */
    wasDeleted: (id: string, tenantId: string | undefined) =>
      kept.listDeleted().some((one) => one.id === id && (tenantId === undefined || one.tenantId === tenantId)),
    /** Creates it with a generated id. */
    create: async (input: SubscriptionInput, made: { createdBy?: string | undefined } = {}) =>
      (await make(input, made)).subscription,
    /** As `create`, but only once for each `Idempotency-Key`. */
    make,
    /**
     * Creates it, or replaces all its settings; the secret stays when none is given, and a new one begins a rotation. A subscription that does not
     * belong to the tenant `boundTo` is not found.
     */
    async put(
      id: string,
      input: SubscriptionInput,
      terms: ChangeTerms,
    ): Promise<{ subscription: Subscription; isNew: boolean }> {
      await examineAhead(input, terms.boundTo ?? ownerOf(input));
      const { entry, isNew } = await registry.put(kept, (draft) => drafts.put(draft, id, input, terms));
      return { subscription: shown(await recordInEffect(entry)), isNew };
    },
    /** A new secret begins a rotation. */
    async change(of: SubscriptionRef, change: SubscriptionChange, terms?: ChangeTerms): Promise<Subscription> {
      await examineAhead(change, of.tenantId, kept.find(of.id, of.tenantId)?.thing.settings);
      const entry = await registry.changeOne(kept, (draft) => drafts.change(draft, of, change, terms));
      return shown(await recordInEffect(entry));
    },
    /** Writes it together with what `notify` adds to the draft; `notify` is called only when the status changes. */
    setStatus,
    /** As `setStatus`; does nothing when it is no longer active. */
    async suspend({ id, tenantId }: SubscriptionRef, notify?: Notify): Promise<void> {
      await registry.change(kept, (draft) => {
        const entry = draft.find(kept, id, tenantId);
        if (entry?.thing.status !== "active") return;
        notify?.(draft, known.derive(entry));
        draft.put(kept, records.withStatus(entry.thing, "suspended"));
      });
    },
    /** Writes it together with what `toChanged` adds to the draft; unchanged keys are not written. */
    async changeKeys({ id, tenantId }: SubscriptionRef, toChanged: ToChangedKeys): Promise<Subscription> {
      const result = await registry.changeOne(kept, (draft) => {
        const entry = draft.get(kept, id, tenantId);
        const keys = toChanged(entry.thing.keys, known.derive(entry), draft);
        return keys === entry.thing.keys ? { entry } : draft.put(kept, records.withKeys(entry.thing, keys));
      });
      return shown(result);
    },
    /** Writes the deletion together with what `plan` adds to the draft; resolves to the result of `plan`. */
    remove: <Result>(of: SubscriptionRef, ifMatch: string | undefined, plan: PlanRemoval<Result>) =>
      registry.change(kept, async (draft) => {
        const entry = drafts.getExpected(draft, of, ifMatch);
        rejectManaged(kept, entry);
        const user = draft.list(kept, entry.tenantId).find((one) => one.thing.settings.fallback === entry.thing.name);
        if (user !== undefined) throw usedAsFallback(entry.thing.name, user.thing);
        drafts.rejectNamed(draft, entry);
        draft.remove(kept, entry.id, entry.tenantId);
        return plan(draft, known.derive(entry));
      }),
    /** Puts the declared subscriptions into the draft; returns the names that are no longer declared. */
    async declareIn(draft: Draft, declared: readonly SubscriptionInput[]): Promise<readonly string[]> {
      const things = await Promise.all(
        declared.map((input) => orDeclaredFault("subscription", input.name, () => drafts.toDeclared(draft, input))),
      );
      const left = await declare(draft, kept, things, records.toFormer);
      return left.map(({ thing }) => thing.name);
    },
    /**
     * Applies the subscriptions of a tenant's contacts. A rejected one is reported and left out; one that is no longer
     * wanted becomes inactive, and may be deleted.
     */
    async applyContacts(
      tenantId: string,
      inputs: readonly SubscriptionInput[],
      onRejected: (name: string, error: unknown) => void,
    ): Promise<void> {
      const rejected = new Map<string, unknown>();
      await registry.change(kept, async (draft) => {
        rejected.clear();
        const things: DeclaredThing<KeptSubscription>[] = [];
        for (const input of inputs) {
          try {
            const { id, build: toThing } = drafts.toDeclared(draft, input, "contact");
            const thing = await toThing(draft.find(kept, id, tenantId));
            things.push({ id, tenantId, build: () => thing });
          } catch (error) {
            rejected.set(input.name, error);
          }
        }
        await declare(draft, kept, things, records.toFormer, { managedBy: "contact", tenantId });
      });
      for (const [name, error] of rejected) onRejected(name, error);
    },
    /** Rejects a target whose settings its subscriptions cannot have; `only` limits the check to those managed so. */
    checkTarget: drafts.rejectTarget,
    /** Called when declared targets may have changed. */
    async retarget(): Promise<void> {
      await options.onChange(known.retarget(kept.list()));
    },
  };
}
