import { rateAt } from "../deliver/pace.ts";
import { formatTarget, parseTarget } from "../deliver/saved-state.ts";
import type { Scheduler } from "../deliver/scheduler.ts";
import { createTarget, createTargetCondition, forceMode, type Target } from "../deliver/target.ts";
import { noteOthersFailed } from "../deliver/target-news.ts";
import type { Clock } from "../domain/clock.ts";
import { PosthornError } from "../domain/errors.ts";
import { DEFAULT_SUSPENSION } from "../domain/suspension.ts";
import type { ManagedBy, Subscription } from "../domain/subscription.ts";
import { toTargetRules, type Mode, type TargetChange, type TargetInput } from "../domain/target.ts";
import { findHealth, findPreset } from "../domain/target-presets.ts";
import type { Draft } from "../registry/draft.ts";
import type { Change, Entry } from "../registry/kind.ts";
import type { Once, Registry } from "../registry/registry.ts";
import { openSharedTargets, type SharedTarget, type SharedTargets } from "../registry/targets.ts";
import type { Store } from "../store/store.ts";
import type { Subscriptions } from "./subscriptions.ts";

/** What subscriptions send to: those that the configuration declares for several, and each other one's own. */
export interface Targets {
  /** With a draft, one that is there until that is written. */
  findDeclared(name: string, tenantId: string, draft?: Draft): TargetInput | undefined;
  /** The one that a subscription shares with others. */
  findShared(subscription: Subscription): Target | undefined;
  /** The declared ones first, then those that are a subscription's own, by age. */
  list(tenantId: string | undefined): readonly KnownTarget[];
  /** By name; its own also by the id of the subscription. */
  get(name: string, tenantId: string | undefined): KnownTarget;
  /** Of what a subscription sends to. */
  of(subscription: Subscription): KnownTarget;
  findKnown(target: Target): KnownTarget | undefined;
  /** `auto`: the target's health decides again. On disk when it resolves. */
  force(known: KnownTarget, mode: Mode | "auto"): Promise<void>;
  /** Those of its subscriptions that go on by themselves now that it is well. */
  listResumable(target: Target): readonly Subscription[];
  /** Those with a health check that somebody sends to, or would, each with its tenant. */
  listChecked(): ReadonlyMap<Target, string>;
  /** What is known of it, of a shared one or a subscription's own. */
  saveMode(known: KnownTarget): Promise<void>;
  /** Refused when the name is taken. */
  create(input: TargetInput, once?: Once): Promise<{ known: KnownTarget; isReplay: boolean }>;
  /** Makes it or replaces it. */
  put(input: TargetInput, ifMatch?: string): Promise<{ known: KnownTarget; isNew: boolean }>;
  change(name: string, tenantId: string, change: TargetChange, ifMatch?: string): Promise<KnownTarget>;
  /** Refused while somebody sends to it. */
  remove(name: string, tenantId: string, ifMatch?: string): Promise<void>;
  applyDeclared: SharedTargets["applyDeclared"];
}

export interface KnownTarget {
  tenantId: string;
  name: string;
  /** What was set of one that may be shared; undefined when it is a subscription's own. */
  declared: TargetInput | undefined;
  /** Of what was set: how it is does not make another one. */
  version: number | undefined;
  managedBy: ManagedBy;
  subscriptions: readonly Subscription[];
  /** Undefined when nothing was ever sent to it. */
  state: Target | undefined;
  /** What it is held to; undefined when nothing holds it back. */
  ratePerS: number | undefined;
}

export interface TargetsOptions {
  registry: Registry;
  store: Pick<Store, "noteRecordStates">;
  clock: Clock;
  subscriptions: () => Pick<Subscriptions, "list" | "findByTarget" | "saveState" | "retarget">;
  scheduler: () => Pick<Scheduler, "targetOf" | "stateOf" | "findMode" | "findSuspension" | "targets">;
  checkDestination: (url: string, field?: string) => void;
  onMode: (known: KnownTarget & { state: Target }, change: "opened" | "closed") => void;
  /** What is checked may have changed. */
  onChange: () => void;
}

export async function openTargets(options: TargetsOptions): Promise<Targets> {
  const { registry, store, clock, checkDestination } = options;
  /** How each shared one is, by the number of its record. */
  const states = new Map<number, Target>();
  let isOpen = false;

  const shared = await openSharedTargets({
    registry,
    checkDestination,
    findUser: (draft, name, tenantId) => options.subscriptions().findByTarget(draft, name, tenantId),
    onChange(changes) {
      changes.forEach(take);
      // Those who send to them are opened later.
      if (!isOpen) return;
      options.subscriptions().retarget();
      options.onChange();
    },
  });
  isOpen = true;

  function take({ before, after }: Change<SharedTarget>): void {
    if (after !== undefined) stateOf(after).rules = rulesOf(after.thing.input);
    else if (before !== undefined) states.delete(before.seq);
  }

  function stateOf({ seq, state: saved, thing }: Entry<SharedTarget>): Target {
    const known = states.get(seq);
    if (known !== undefined) return known;
    const now = clock.now();
    const condition = saved === undefined ? createTargetCondition(now) : parseTarget(saved, now);
    const state = createTarget(condition, rulesOf(thing.input));
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
    return { tenantId, name, declared, version, managedBy, subscriptions, state, ratePerS: rateOf(state) };
  }

  function knownOwn(subscription: Subscription): KnownTarget {
    const { tenantId, name, managedBy, targetRules } = subscription;
    const scheduler = options.scheduler();
    const isKnown = targetRules !== undefined || scheduler.findMode(subscription.seq) !== undefined;
    const state = isKnown ? scheduler.targetOf(subscription) : undefined;
    const own = { declared: undefined, version: undefined, subscriptions: [subscription] };
    return { tenantId, name, ...own, managedBy, state, ratePerS: rateOf(state) };
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

  async function saveMode({ name, tenantId, declared, subscriptions, state }: KnownTarget): Promise<void> {
    if (state === undefined) return;
    const entry = declared && shared.find(name, tenantId);
    if (entry !== undefined) {
      return store.noteRecordStates([{ seq: entry.seq, state: formatTarget(state) }]);
    }
    const [owner] = subscriptions;
    if (owner !== undefined) await options.subscriptions().saveState(owner, options.scheduler().stateOf(owner));
  }

  /** Says so where it is not there because it is a subscription's own. */
  async function ofShared<Result>(name: string, tenantId: string, changing: Promise<Result>): Promise<Result> {
    try {
      return await changing;
    } catch (error) {
      const isUnknown = error instanceof PosthornError && error.code === "not_found";
      const isOwn = (known: KnownTarget) => known.name === name || known.subscriptions[0]?.id === name;
      if (!isUnknown || !list(tenantId).some(isOwn)) throw error;
      throw new PosthornError("conflict", `The target ${name} is a subscription's own. Change the subscription.`);
    }
  }

  return {
    findDeclared(name, tenantId, draft) {
      const entry = draft === undefined ? shared.find(name, tenantId) : shared.findIn(draft, name, tenantId);
      return entry?.thing.input;
    },
    findShared,
    list,
    of,
    saveMode,
    get(name, tenantId) {
      const all = list(tenantId);
      const isOwn = ({ declared, subscriptions }: KnownTarget) =>
        declared === undefined && subscriptions[0]?.id === name;
      const found = all.find(isOwn) ?? findOnly(all, name);
      if (found === undefined) throw new PosthornError("not_found", `There is no target ${name}.`);
      return found;
    },
    findKnown(target) {
      const entry = shared.list().find(({ seq }) => states.get(seq) === target);
      if (entry !== undefined) return knownShared(entry);
      const owner = options
        .subscriptions()
        .list(undefined)
        .find((one) => one.targetRules !== undefined && options.scheduler().targetOf(one) === target);
      return owner === undefined ? undefined : knownOwn(owner);
    },
    async force(known, mode) {
      const [owner] = known.subscriptions;
      const state = known.state ?? (owner && options.scheduler().targetOf(owner));
      if (state === undefined) return;
      const change = forceMode(state, mode, clock.now());
      if (change !== undefined) {
        // Whoever forces it wants it known.
        noteOthersFailed(state.news);
        options.onMode({ ...known, state }, change);
      }
      options.scheduler().targets.refresh(state);
      if (change === "closed") options.scheduler().targets.hasten(state);
      options.onChange();
      await saveMode({ ...known, state });
    },
    listResumable(target) {
      const resumable = options.subscriptions().list(undefined).filter(isResumable);
      return resumable.filter((one) => options.scheduler().targetOf(one) === target);
    },
    listChecked() {
      const checked = new Map<Target, string>();
      for (const subscription of options.subscriptions().list(undefined)) {
        if (subscription.status !== "active" && !isResumable(subscription)) continue;
        if (subscription.targetRules === undefined && subscription.sharedTarget === undefined) continue;
        const target = options.scheduler().targetOf(subscription);
        if (target.rules.health !== undefined) checked.set(target, subscription.tenantId);
      }
      return checked;
    },
    async create(input, once) {
      const { entry, isReplay } = await shared.create(input, once);
      return { known: knownShared(entry), isReplay };
    },
    async put(input, ifMatch) {
      const { entry, isNew } = await shared.put(input, ifMatch);
      return { known: knownShared(entry), isNew };
    },
    change: async (name, tenantId, change, ifMatch) =>
      knownShared(await ofShared(name, tenantId, shared.change(name, tenantId, change, ifMatch))),
    remove: (name, tenantId, ifMatch) => ofShared(name, tenantId, shared.remove(name, tenantId, ifMatch)),
    applyDeclared: shared.applyDeclared,
  };
}

/** Tenants may have targets of the same name; a declared one goes before a subscription of that name. */
function findOnly(all: readonly KnownTarget[], name: string): KnownTarget | undefined {
  const [first, ...others] = all.filter((one) => one.name === name);
  const rival = others.find(({ tenantId }) => tenantId !== first?.tenantId);
  if (rival === undefined) return first;
  throw new PosthornError(
    "conflict",
    `Several tenants have a target ${name}: ${first?.tenantId}, ${rival.tenantId}. Say which with tenant_id.`,
  );
}

function rulesOf(input: TargetInput) {
  return toTargetRules(input, findHealth(input.health_url, findPreset(input.preset), input.url));
}
