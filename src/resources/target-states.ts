import { rateAt } from "../deliver/pace.ts";
import {
  formatSubscription,
  formatTarget,
  parseSubscription,
  parseTarget,
  type SubscriptionState,
} from "../deliver/subscription-state.ts";
import type { Scheduler } from "../deliver/scheduler.ts";
import { createTarget, createTargetCondition, forceMode, type Target, isHealthy } from "../deliver/target.ts";
import { markReportable } from "../deliver/mode.ts";
import type { Clock } from "../model/clock.ts";
import { PosthornError } from "../model/errors.ts";
import {
  DEFAULT_SUSPENSION,
  type ManagedBy,
  type Subscription,
  type SubscriptionStatus,
} from "../model/subscription.ts";
import { toTargetRules, type Mode, type TargetInput } from "../model/target.ts";
import { findHealth, findPreset } from "../model/target-rules.ts";
import type { Authors } from "./authors.ts";
import type { Change, Entry } from "./resource.ts";
import type { SharedTarget, SharedTargets } from "./targets.ts";
import type { AuditNote } from "../store/port/audit.ts";
import type { Store } from "../store/store.ts";
import type { Subscriptions } from "./subscriptions/subscriptions.ts";

/** The targets that subscriptions send to: shared ones, and the own target of each other subscription. */
export type Targets = ReturnType<typeof createTargets>;

export interface KnownTarget {
  tenantId: string;
  name: string;
  /** The settings of a shared target; undefined for a subscription's own. */
  declared: TargetInput | undefined;
  /** The version of the settings; a change of state does not change it. */
  version: number | undefined;
  managedBy: ManagedBy;
  subscriptions: readonly Subscription[];
  /** Undefined when nothing was ever sent to it. */
  state: Target | undefined;
  condition: Condition;
  /** The current rate limit; undefined when there is none. */
  ratePerS: number | undefined;
}

export function createTargets(options: {
  shared: Pick<SharedTargets, "find" | "list">;
  store: Pick<Store, "records">;
  clock: Clock;
  authors: Pick<Authors, "note">;
  /** The longest time between two probes of a target that is down. */
  maxProbeMs?: number | undefined;
  subscriptions: () => Pick<Subscriptions, "list" | "findState">;
  scheduler: () => Pick<
    Scheduler,
    "targetOf" | "stateOf" | "findMode" | "findSuspension" | "isFailing" | "missingSources" | "targets"
  >;
  onMode: (known: KnownTarget & { state: Target }, change: "opened" | "closed") => void;
  /** Called when the list of checked targets may have changed. */
  onChange: () => void;
}) {
  const { shared, store, clock } = options;
  /** The state of each shared target, by the number of its record. */
  const states = new Map<number, Target>();
  // The reference time for saved rate limits, which have recovered since they were saved.
  const openedAt = clock.now();
  /** The saved state of each subscription's own target, as it was read. */
  const saved = new Map<number, { text: string; state: SubscriptionState }>();

  function stateOf({ seq, state: text, thing }: Entry<SharedTarget>): Target {
    const known = states.get(seq);
    if (known !== undefined) return known;
    const now = clock.now();
    const condition = text === undefined ? createTargetCondition(now) : parseTarget(text, now);
    const state = createTarget(condition, rulesOf(thing.input, options.maxProbeMs));
    states.set(seq, state);
    return state;
  }

  function findEntry({ sharedTarget, tenantId }: Subscription): Entry<SharedTarget> | undefined {
    return sharedTarget === undefined ? undefined : shared.find(sharedTarget, tenantId);
  }

  function findShared(subscription: Subscription): Target | undefined {
    const entry = findEntry(subscription);
    return entry && stateOf(entry);
  }

  function listUsers(name: string, tenantId: string): Subscription[] {
    const all = options.subscriptions().list(tenantId);
    return all.filter(({ sharedTarget }) => sharedTarget === name);
  }

  function knownShared(entry: Entry<SharedTarget>): KnownTarget {
    const { id: name, version, thing } = entry;
    const { tenantId, input: declared, managedBy } = thing;
    const subscriptions = listUsers(name, tenantId);
    const state = stateOf(entry);
    return { tenantId, name, declared, version, managedBy, subscriptions, ...nowOf(state, subscriptions) };
  }

  /** Undefined when nothing was ever sent to it. */
  function findOwn(subscription: Subscription): Target | undefined {
    const scheduler = options.scheduler();
    const isKnown = subscription.targetRules !== undefined || scheduler.findMode(subscription.seq) !== undefined;
    return isKnown ? scheduler.targetOf(subscription) : undefined;
  }

  function knownOwn(subscription: Subscription): KnownTarget {
    const { tenantId, name, managedBy } = subscription;
    const own = { declared: undefined, version: undefined, subscriptions: [subscription] };
    return { tenantId, name, ...own, managedBy, ...nowOf(findOwn(subscription), own.subscriptions) };
  }

  function factsOf({ status, seq }: Subscription) {
    const { isFailing, missingSources } = options.scheduler();
    return { status, isFailing: isFailing(seq) || missingSources(seq).length > 0 };
  }

  function nowOf(state: Target | undefined, users: readonly Subscription[]) {
    return { state, condition: conditionOfTarget(state, users.map(factsOf)), ratePerS: rateOf(state) };
  }

  function rateOf(state: Target | undefined): number | undefined {
    if (state === undefined || state.mode.isOpen) return undefined;
    const perS = rateAt(state.pace, clock.now());
    return perS === Number.POSITIVE_INFINITY ? undefined : perS;
  }

  function isResumable({ seq, status, suspension = DEFAULT_SUSPENSION }: Subscription): boolean {
    if (status !== "suspended" || !suspension.resumesWhenHealthy) return false;
    return options.scheduler().findSuspension(seq)?.isOutOfReach === true;
  }

  function of(subscription: Subscription): KnownTarget {
    const entry = findEntry(subscription);
    return entry === undefined ? knownOwn(subscription) : knownShared(entry);
  }

  function list(tenantId: string | undefined): KnownTarget[] {
    const declared = shared.list().filter((entry) => tenantId === undefined || entry.tenantId === tenantId);
    const own = options
      .subscriptions()
      .list(tenantId)
      .filter((subscription) => findEntry(subscription) === undefined);
    return [...declared.map(knownShared), ...own.map(knownOwn)];
  }

  function saveState({ seq }: Subscription, state: SubscriptionState, audit: readonly AuditNote[] = []): Promise<void> {
    return store.records.recordStates([{ seq, state: formatSubscription(state) }], audit);
  }

  async function saveMode(known: KnownTarget, audit: readonly AuditNote[] = []): Promise<void> {
    const { name, tenantId, declared, subscriptions, state } = known;
    if (state === undefined) return;
    const entry = declared && shared.find(name, tenantId);
    if (entry !== undefined) return store.records.recordStates([{ seq: entry.seq, state: formatTarget(state) }], audit);
    const [owner] = subscriptions;
    if (owner !== undefined) await saveState(owner, options.scheduler().stateOf(owner), audit);
  }

  return {
    /** The target that a subscription shares with others. */
    findShared,
    /** Shared targets first, then subscriptions' own ones, by age. */
    list,
    /** The target of a subscription. */
    of,
    conditionOf: (one: Subscription) => conditionOf({ ...factsOf(one), target: findShared(one) ?? findOwn(one) }),
    /** Saves the state of a shared target or of a subscription's own. */
    saveMode: (known: KnownTarget) => saveMode(known),
    /** By name; a subscription's own target also by the subscription's id. */
    get(name: string, tenantId: string | undefined): KnownTarget {
      const all = list(tenantId);
      const isOwn = ({ declared, subscriptions }: KnownTarget) =>
        declared === undefined && subscriptions[0]?.id === name;
      const found = all.find(isOwn) ?? findOnly(all, name);
      if (found === undefined) throw new PosthornError("not_found", `There is no target ${name}.`);
      return found;
    },
    findKnown(target: Target): KnownTarget | undefined {
      const entry = shared.list().find(({ seq }) => states.get(seq) === target);
      if (entry !== undefined) return knownShared(entry);
      const owner = options
        .subscriptions()
        .list(undefined)
        .find((one) => one.targetRules !== undefined && options.scheduler().targetOf(one) === target);
      return owner === undefined ? undefined : knownOwn(owner);
    },
    /** `auto`: the target's health decides again. On disk when it resolves. */
    async force(known: KnownTarget, mode: Mode | "auto"): Promise<void> {
      const [owner] = known.subscriptions;
      const state = known.state ?? (owner && options.scheduler().targetOf(owner));
      if (state === undefined) return;
      const before = { mode: state.mode.isOpen ? "QUEUE" : "NORMAL", forced: state.mode.forced ?? null };
      const change = forceMode(state, mode, clock.now());
      if (change !== undefined) {
        // A mode set by hand must be reported.
        markReportable(state);
        options.onMode({ ...known, state }, change);
      }
      options.scheduler().targets.refresh(state);
      if (change === "closed") options.scheduler().targets.hasten(state);
      options.onChange();
      const { name: id, tenantId } = known;
      const after = { mode: state.mode.isOpen ? "QUEUE" : "NORMAL", forced: state.mode.forced ?? null };
      const note = options.authors.note({ act: "target.mode", kind: "target", id, tenantId, before, after });
      await saveMode({ ...known, state }, [note]);
    },
    /** Subscriptions of the target that continue automatically when it is healthy. */
    listResumable(target: Target): readonly Subscription[] {
      const resumable = options.subscriptions().list(undefined).filter(isResumable);
      return resumable.filter((one) => options.scheduler().targetOf(one) === target);
    },
    /** Targets with a health check that a subscription uses or could use, each with its tenant. */
    listChecked(): ReadonlyMap<Target, string> {
      const checked = new Map<Target, string>();
      for (const subscription of options.subscriptions().list(undefined)) {
        if (subscription.status !== "active" && !isResumable(subscription)) continue;
        if (subscription.targetRules === undefined && subscription.sharedTarget === undefined) continue;
        const target = options.scheduler().targetOf(subscription);
        if (target.rules.health !== undefined) checked.set(target, subscription.tenantId);
      }
      return checked;
    },
    saveState: (subscription: Subscription, state: SubscriptionState) => saveState(subscription, state),
    /** The state of a subscription and its own destination that was saved before the start. */
    findSaved(seq: number): SubscriptionState | undefined {
      const text = options.subscriptions().findState(seq);
      if (text === undefined) return undefined;
      const known = saved.get(seq);
      if (known?.text === text) return known.state;
      const state = parseSubscription(text, openedAt);
      saved.set(seq, { text, state });
      return state;
    },
    /** Called when the settings of shared targets have changed. */
    take(changes: readonly Change<SharedTarget>[]): void {
      for (const { before, after } of changes) {
        if (after !== undefined) stateOf(after).rules = rulesOf(after.thing.input, options.maxProbeMs);
        else if (before !== undefined) states.delete(before.seq);
      }
    },
    /** The target with its settings. */
    known: knownShared,
  };
}

/** Tenants may have targets with the same name; a shared one takes precedence over a subscription with that name. */
function findOnly(all: readonly KnownTarget[], name: string): KnownTarget | undefined {
  const [first, ...others] = all.filter((one) => one.name === name);
  const rival = others.find(({ tenantId }) => tenantId !== first?.tenantId);
  if (rival === undefined) return first;
  throw new PosthornError(
    "conflict",
    `Several tenants have a target ${name}: ${first?.tenantId}, ${rival.tenantId}. Choose one with tenant_id.`,
  );
}

function rulesOf(input: TargetInput, maxProbeMs: number | undefined) {
  return toTargetRules(input, findHealth(input.health_url, findPreset(input.preset), input.url), maxProbeMs);
}

/** From best to worst. */
export const CONDITIONS = ["healthy", "paused", "failing", "down", "suspended"] as const;
/** How a subscription, a target or the gateway is, in the one word that every page, command and answer has for it. */
export type Condition = (typeof CONDITIONS)[number];

interface ConditionFacts {
  status: SubscriptionStatus;
  /** What it sends to; undefined when nothing was ever sent. */
  target: Target | undefined;
  /** It is on its way to a suspension, or its target does not know a source of which something waits. */
  isFailing: boolean;
}

export function conditionOf({ status, target, isFailing }: ConditionFacts): Condition {
  if (status === "suspended") return "suspended";
  if (status === "inactive") return "paused";
  if (target?.mode.isOpen === true) return "down";
  return isFailing || (target !== undefined && (target.mode.failures > 0 || !isHealthy(target)))
    ? "failing"
    : "healthy";
}

/** Of those that send to a target: one that is held says nothing about it, unless all are. */
export function conditionOfTarget(
  target: Target | undefined,
  users: readonly Omit<ConditionFacts, "target">[],
): Condition {
  const active = users.filter(({ status }) => status === "active");
  const heard = active.length > 0 ? active : users;
  const facts = heard.length > 0 ? heard : [{ status: "active" as const, isFailing: false }];
  return worstOf(facts.map((one) => conditionOf({ ...one, target })));
}

export function worstOf(conditions: readonly Condition[]): Condition {
  const worst = Math.max(0, ...conditions.map((one) => CONDITIONS.indexOf(one)));
  return CONDITIONS[worst] as Condition;
}
