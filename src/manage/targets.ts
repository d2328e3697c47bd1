import { createBreakerState, loadBreakerState, type BreakerState } from "../deliver/breaker.ts";
import { rateAt } from "../deliver/pace.ts";
import type { Scheduler } from "../deliver/scheduler.ts";
import { createTarget, forceMode, type Target } from "../deliver/target.ts";
import type { Clock } from "../domain/clock.ts";
import { PosthornError } from "../domain/errors.ts";
import { DEFAULT_TENANT } from "../domain/event.ts";
import { DEFAULT_SUSPENSION } from "../domain/suspension.ts";
import type { ManagedBy, Subscription } from "../domain/subscription.ts";
import { toTargetRules, type Mode, type TargetChange, type TargetInput } from "../domain/target.ts";
import { checkTargetInput } from "../domain/target-rules.ts";
import type { IdempotencyMark } from "../store/port/idempotency.ts";
import { findHealth, findPreset } from "../domain/target-presets.ts";
import type { Store } from "../store/store.ts";
import type { Subscriptions } from "./subscriptions.ts";

/** What subscriptions send to: those that the configuration declares for several, and each other one's own. */
export interface Targets {
  findDeclared(name: string, tenantId: string): TargetInput | undefined;
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
  /** What is known of a subscription's destination, of a shared one or its own. */
  save(subscription: Subscription, breaker: BreakerState): Promise<void>;
  saveMode(known: KnownTarget): Promise<void>;
  /** Refused when the name is taken. */
  create(input: TargetInput, mark?: IdempotencyMark): Promise<KnownTarget>;
  /** Makes it or replaces it, if `check` lets the one that is there pass. */
  put(input: TargetInput, check: CheckTarget): Promise<{ known: KnownTarget; isNew: boolean }>;
  change(name: string, tenantId: string, change: TargetChange, check: CheckTarget): Promise<KnownTarget>;
  /** Refused while somebody sends to it. */
  remove(name: string, tenantId: string, check: CheckTarget): Promise<void>;
  /** Takes over what the configuration declares; says which left it. */
  applyDeclared(declared: readonly TargetInput[]): Promise<{ left: readonly string[] }>;
}

/** Throws when what is there is not what the caller means; undefined when there is none. */
export type CheckTarget = (known: KnownTarget | undefined) => void;

export interface KnownTarget {
  tenantId: string;
  name: string;
  /** What was set of one that may be shared; undefined when it is a subscription's own. */
  declared: TargetInput | undefined;
  managedBy: ManagedBy;
  subscriptions: readonly Subscription[];
  /** Undefined when nothing was ever sent to it. */
  state: Target | undefined;
  /** What it is held to; undefined when nothing holds it back. */
  ratePerS: number | undefined;
}

export interface TargetsOptions {
  store: Pick<Store, "loadTargets" | "saveTarget" | "deleteTarget">;
  clock: Clock;
  subscriptions: () => Pick<Subscriptions, "list" | "saveBreaker" | "retarget">;
  scheduler: () => Pick<Scheduler, "targetOf" | "findBreaker" | "findSuspension" | "targets">;
  checkDestination: (url: string, field?: string) => void;
  onMode: (known: KnownTarget & { state: Target }, change: "opened" | "closed") => void;
  /** What is checked may have changed. */
  onChange: () => void;
}

interface Shared {
  input: TargetInput;
  tenantId: string;
  managedBy: ManagedBy;
  state: Target;
}

const MAX_PER_TENANT = 1000;

export async function openTargets(options: TargetsOptions): Promise<Targets> {
  const { store, clock } = options;
  const shared = new Map<string, Shared>();

  for (const row of await store.loadTargets()) {
    const input = JSON.parse(row.settings) as TargetInput;
    const now = clock.now();
    const mode = row.mode === undefined ? createBreakerState(now) : loadBreakerState(row.mode, now);
    const state = createTarget(mode, rulesOf(input));
    shared.set(keyOf(row.name, row.tenantId), { input, tenantId: row.tenantId, managedBy: row.managedBy, state });
  }

  function findShared({ sharedTarget, tenantId }: Subscription): Target | undefined {
    return sharedTarget === undefined ? undefined : shared.get(keyOf(sharedTarget, tenantId))?.state;
  }

  function knownShared({ input, tenantId, managedBy, state }: Shared): KnownTarget {
    const subscriptions = options
      .subscriptions()
      .list(tenantId)
      .filter(({ sharedTarget }) => sharedTarget === input.name);
    return { tenantId, name: input.name, declared: input, managedBy, subscriptions, state, ratePerS: rateOf(state) };
  }

  function knownOwn(subscription: Subscription): KnownTarget {
    const { tenantId, name, managedBy, targetRules } = subscription;
    const scheduler = options.scheduler();
    const isKnown = targetRules !== undefined || scheduler.findBreaker(subscription.seq) !== undefined;
    const state = isKnown ? scheduler.targetOf(subscription) : undefined;
    const ratePerS = rateOf(state);
    return { tenantId, name, declared: undefined, managedBy, subscriptions: [subscription], state, ratePerS };
  }

  function rateOf(state: Target | undefined): number | undefined {
    if (state === undefined || state.mode.isOpen) return undefined;
    const perS = rateAt(state.mode.pace, clock.now());
    return perS === Number.POSITIVE_INFINITY ? undefined : perS;
  }

  function isResumable({ seq, status, suspension = DEFAULT_SUSPENSION }: Subscription): boolean {
    if (status !== "suspended" || !suspension.resumesWhenHealthy) return false;
    return options.scheduler().findSuspension(seq)?.isOutOfReach === true;
  }

  function of(subscription: Subscription): KnownTarget {
    const { sharedTarget, tenantId } = subscription;
    const one = sharedTarget === undefined ? undefined : shared.get(keyOf(sharedTarget, tenantId));
    return one === undefined ? knownOwn(subscription) : knownShared(one);
  }

  function list(tenantId: string | undefined): KnownTarget[] {
    const declared = [...shared.values()].filter((one) => tenantId === undefined || one.tenantId === tenantId);
    const own = options
      .subscriptions()
      .list(tenantId)
      .filter((subscription) => findShared(subscription) === undefined);
    return [...declared.map(knownShared), ...own.map(knownOwn)];
  }

  async function saveShared(
    { input, tenantId, managedBy, state }: Shared,
    hasMode: boolean,
    mark?: IdempotencyMark,
  ): Promise<void> {
    const row = {
      tenantId,
      name: input.name,
      settings: JSON.stringify(input),
      managedBy,
      mode: hasMode ? JSON.stringify(state.mode) : undefined,
      updatedAt: clock.wall(),
    };
    await store.saveTarget(row, mark);
  }

  function checkUrls({ url, health_url: healthUrl }: TargetInput, where = ""): void {
    if (url !== undefined) options.checkDestination(url, `${where}url`);
    if (healthUrl !== undefined) options.checkDestination(healthUrl, `${where}health_url`);
  }

  /** By API. */
  async function write(input: TargetInput, mark?: IdempotencyMark): Promise<KnownTarget> {
    const [problem] = checkTargetInput(input);
    if (problem !== undefined) {
      throw new PosthornError("invalid_field", `${problem.field}: ${problem.message}`, { field: problem.field });
    }
    checkUrls(input);
    const tenantId = input.tenant_id ?? DEFAULT_TENANT;
    const key = keyOf(input.name, tenantId);
    const known = shared.get(key);
    if (known?.managedBy === "config") throw managedByConfig(input.name);
    if (known === undefined && countOf(tenantId) >= MAX_PER_TENANT) {
      throw new PosthornError("conflict", `${tenantId} has ${MAX_PER_TENANT} targets, and may not have more.`);
    }
    const state = known?.state ?? createTarget(createBreakerState(clock.now()));
    const one: Shared = { input, tenantId, managedBy: "api", state };
    await saveShared(one, false, mark);
    state.rules = rulesOf(input);
    shared.set(key, one);
    options.subscriptions().retarget();
    options.onChange();
    return knownShared(one);
  }

  function countOf(tenantId: string): number {
    return [...shared.values()].filter((one) => one.tenantId === tenantId).length;
  }

  function findOne(name: string, tenantId: string): Shared | undefined {
    return shared.get(keyOf(name, tenantId));
  }

  function getOne(name: string, tenantId: string, check: CheckTarget): Shared {
    const one = findOne(name, tenantId);
    if (one === undefined) {
      const isOwn = list(tenantId).some((known) => known.name === name || known.subscriptions[0]?.id === name);
      throw isOwn
        ? new PosthornError("conflict", `The target ${name} is a subscription's own. Change the subscription.`)
        : new PosthornError("not_found", `There is no target ${name}.`);
    }
    check(knownShared(one));
    if (one.managedBy === "config") throw managedByConfig(name);
    return one;
  }

  async function saveMode({ name, tenantId, declared, subscriptions, state }: KnownTarget): Promise<void> {
    if (state === undefined) return;
    const one = declared && shared.get(keyOf(name, tenantId));
    if (one !== undefined) return saveShared(one, true);
    const [owner] = subscriptions;
    if (owner !== undefined) await options.subscriptions().saveBreaker(owner, state.mode);
  }

  return {
    findDeclared: (name, tenantId) => shared.get(keyOf(name, tenantId))?.input,
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
      for (const one of shared.values()) if (one.state === target) return knownShared(one);
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
        state.mode.failedOthers = true;
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
    async save(subscription, breaker) {
      const target = findShared(subscription);
      if (target?.mode === breaker) await saveMode(of(subscription));
      else await options.subscriptions().saveBreaker(subscription, breaker);
    },
    async create(input, mark) {
      if (findOne(input.name, input.tenant_id ?? DEFAULT_TENANT) !== undefined) {
        throw new PosthornError("conflict", `There is a target ${input.name} already.`, { field: "name" });
      }
      return write(input, mark);
    },
    async put(input, check) {
      const one = findOne(input.name, input.tenant_id ?? DEFAULT_TENANT);
      check(one && knownShared(one));
      return { known: await write(input), isNew: one === undefined };
    },
    async change(name, tenantId, change, check) {
      const one = getOne(name, tenantId, check);
      const merged = Object.entries({ ...one.input, ...change }).filter(([, value]) => value !== null);
      return write(Object.fromEntries(merged) as TargetInput);
    },
    async remove(name, tenantId, check) {
      const one = getOne(name, tenantId, check);
      const [user] = knownShared(one).subscriptions;
      if (user !== undefined) {
        throw new PosthornError("conflict", `The subscription "${user.name}" (${user.id}) sends to ${name}.`, {
          details: { subscription_id: user.id },
        });
      }
      await store.deleteTarget(tenantId, name);
      shared.delete(keyOf(name, tenantId));
      options.onChange();
    },
    async applyDeclared(declared) {
      const keys = new Set<string>();
      for (const input of declared) {
        checkUrls(input, `targets: ${input.name}: `);
        const tenantId = input.tenant_id ?? DEFAULT_TENANT;
        const key = keyOf(input.name, tenantId);
        keys.add(key);
        const state = shared.get(key)?.state ?? createTarget(createBreakerState(clock.now()));
        state.rules = rulesOf(input);
        const one: Shared = { input, tenantId, managedBy: "config", state };
        shared.set(key, one);
        await saveShared(one, false);
      }
      const left = [...shared].filter(([key, { managedBy }]) => managedBy === "config" && !keys.has(key));
      for (const [, one] of left) {
        one.managedBy = "former_config";
        await saveShared(one, false);
      }
      options.subscriptions().retarget();
      options.onChange();
      return { left: left.map(([, { input }]) => input.name) };
    },
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

function managedByConfig(name: string): PosthornError {
  return new PosthornError(
    "managed_by_config",
    `The target ${name} is declared in posthorn.yaml. Change it there and reload with SIGHUP.`,
  );
}

function keyOf(name: string, tenantId: string): string {
  return JSON.stringify([tenantId, name]);
}

function rulesOf(input: TargetInput) {
  return toTargetRules(input, findHealth(input.health_url, findPreset(input.preset), input.url));
}
