import type { Clock, Random } from "../domain/clock.ts";
import { toDestinationAuth } from "../domain/destination-auth.ts";
import { PosthornError } from "../domain/errors.ts";
import { DEFAULT_TENANT } from "../domain/event.ts";
import { parseFilter, type Filter } from "../domain/filter.ts";
import { stableId } from "../domain/ids.ts";
import { fixedInterval } from "../domain/retry-policy.ts";
import {
  applyKeyInput,
  formatSigningKeys,
  parseSigningKeys,
  toEngineKeys,
  type SigningKeys,
} from "../domain/signing-keys.ts";
import type { ManagedBy, Subscription, SubscriptionInput, SubscriptionStatus } from "../domain/subscription.ts";
import { checkSubscriptionInput } from "../domain/subscription-rules.ts";
import { findForwardRival } from "../domain/forward-rules.ts";
import { expandUrl } from "../domain/url-template.ts";
import { type TargetInput, THRESHOLDS, toTargetRules } from "../domain/target.ts";
import { toSuspensionRules } from "../domain/suspension.ts";
import { findHealth, findPreset, isPresetName, presetSettings } from "../domain/target-presets.ts";
import { loadBreakerState, type BreakerState } from "../deliver/breaker.ts";
import type { Store, SubscriptionRow } from "../store/store.ts";
import { refuseCarriedCredentials, restoreMasked } from "./masked-credentials.ts";
import { needsSealing, openSettings, sealSettings } from "./sealed-settings.ts";
import type { SecretBox } from "../registry/secret-box.ts";

export type SubscriptionChange = Partial<SubscriptionInput>;

/** The subscriptions, in memory for the engine and in the store for good. */
export interface Subscriptions {
  find(seq: number): Subscription | undefined;
  findById(id: string, tenantId: string | undefined): Subscription | undefined;
  getById(id: string, tenantId: string | undefined): Subscription;
  /** By age. */
  list(tenantId: string | undefined): readonly Subscription[];
  /** What the user set, for showing. */
  settingsOf(subscription: Subscription): Settings;
  /** With an id of its own, or the one that is given. */
  create(input: SubscriptionInput, id?: string, createdBy?: string): Promise<Subscription>;
  /** All that is set becomes what is given; the secret stays when none is given. */
  replace(subscription: Subscription, input: SubscriptionInput): Promise<Subscription>;
  /** What it signs with now. */
  keysOf(subscription: Subscription): SigningKeys;
  /** Written in the turn of the call: what is written beside it in that turn is in the same transaction. */
  saveKeys(subscription: Subscription, keys: SigningKeys): Promise<Subscription>;
  /** Whether there was one of this id. */
  wasDeleted(id: string, tenantId: string | undefined): boolean;
  change(subscription: Subscription, change: SubscriptionChange): Promise<Subscription>;
  setStatus(subscription: Subscription, status: SubscriptionStatus): Promise<Subscription>;
  /** Open deliveries are cancelled: at once when they are few, else by a job. */
  remove(subscription: Subscription): Promise<{ cancelled: number; jobId: string | undefined }>;
  saveBreaker(subscription: Subscription, breaker: BreakerState): Promise<void>;
  findSavedBreaker(seq: number): BreakerState | undefined;
  /** Takes over what the configuration declares; says which left it. */
  applyDeclared(declared: readonly SubscriptionInput[]): Promise<{ left: readonly string[] }>;
  /** Goes on with what a crash interrupted. */
  resume(): Promise<void>;
  /** What is declared of targets may have changed. */
  retarget(): void;
}

export type Settings = Omit<SubscriptionInput, "secret" | "status">;

export interface SubscriptionsOptions {
  store: Store;
  clock: Clock;
  random: Random;
  secretBox: SecretBox;
  createId: (prefix: "sub") => string;
  /** Refuses a destination that may not be reached. */
  checkDestination: (url: string, field?: string) => void;
  /** Refuses one that leads back to this gateway. */
  checkOwnUrl?: ((url: string) => void) | undefined;
  /** A target that several subscriptions share. */
  findTarget?: ((name: string, tenantId: string) => TargetInput | undefined) | undefined;
  onChange: (subscription: Subscription) => void;
  /** A change of its settings made it active again. */
  onResumed?: ((subscription: Subscription, from: SubscriptionStatus) => void) | undefined;
  /** Begins to cancel the deliveries of one that is deleted in this turn; called in the turn. */
  cancelLater?: ((subscription: Subscription, open: number) => Promise<{ id: string }>) | undefined;
  /** Whether that goes on for this one. */
  isCancelling?: ((seq: number) => boolean) | undefined;
}

/** So many are cancelled while the one who deletes waits. */
const MAX_CANCELLED_AT_ONCE = 500;

export async function openSubscriptions(options: SubscriptionsOptions): Promise<Subscriptions> {
  const { store, clock, random, secretBox } = options;
  const bySeq = new Map<number, Subscription>();
  const settings = new Map<number, Settings>();
  const keysBySeq = new Map<number, SigningKeys>();
  const tenantOfDeleted = new Map<string, string>();
  const breakers = new Map<number, BreakerState>();
  const deleted = new Set<number>();

  for (const row of await store.loadSubscriptions()) {
    if (row.deletedAt !== undefined) {
      deleted.add(row.seq);
      tenantOfDeleted.set(row.id, row.tenantId);
      continue;
    }
    remember(row, parseSigningKeys(secretBox.open(row.secrets, ownerOf(row)), row.createdAt));
    if (needsSealing(row.settings)) {
      const resealed = sealSettings(openSettings(row.settings, secretBox, ownerOf(row)), secretBox, ownerOf(row));
      await store.updateSubscription(row.seq, { settings: resealed }, row.updatedAt);
    }
    if (row.breaker !== undefined) breakers.set(row.seq, loadBreakerState(row.breaker, clock.now()));
  }

  function remember(row: Omit<SubscriptionRow, "secrets">, keys: SigningKeys): Subscription {
    const input: Settings = openSettings(row.settings, secretBox, ownerOf(row));
    const subscription = toSubscription(row, input, keys, findShared(input, row.tenantId));
    bySeq.set(row.seq, subscription);
    settings.set(row.seq, input);
    keysBySeq.set(row.seq, keys);
    tenantOfDeleted.delete(row.id);
    return subscription;
  }

  function findShared({ target }: Settings, tenantId: string): TargetInput | undefined {
    if (target === undefined || target === null || isPresetName(target)) return undefined;
    return options.findTarget?.(target, tenantId);
  }

  function checkTarget(input: SubscriptionInput): void {
    const { target, tenant_id: tenantId = DEFAULT_TENANT, health_url: healthUrl } = input;
    const hasHealth = healthUrl !== undefined && healthUrl !== null;
    if (hasHealth) options.checkDestination(healthUrl, "health_url");
    if (target === undefined || target === null || isPresetName(target)) return;
    if (options.findTarget?.(target, tenantId) === undefined) {
      throw new PosthornError(
        "invalid_field",
        `target: "${target}" is neither n8n nor a target of ${tenantId}. Make it first, with POST /api/v1/targets.`,
        { field: "target" },
      );
    }
    const field = hasHealth ? "health_url" : THRESHOLDS.find((name) => input[name] !== undefined);
    if (field === undefined) return;
    throw new PosthornError("invalid_field", `${field}: ${target} is shared; set it there, for all who send to it.`, {
      field,
    });
  }

  function check(input: SubscriptionInput): void {
    const [problem] = checkSubscriptionInput(input);
    if (problem !== undefined) {
      throw new PosthornError("invalid_field", `${problem.field}: ${problem.message}`, { field: problem.field });
    }
    const url = expandUrl(input.url, "source");
    options.checkDestination(url);
    if (input.allow_own_url !== true) options.checkOwnUrl?.(url);
    checkTarget(input);
    if (input.auth?.token_url !== undefined) options.checkDestination(input.auth.token_url, "auth.token_url");
  }

  /** The configuration is checked as a whole before it comes here. */
  function refuseRival(input: SubscriptionInput, ownId: string): void {
    const tenantId = input.tenant_id ?? DEFAULT_TENANT;
    const others = [...bySeq.values()].filter((one) => one.tenantId === tenantId && one.id !== ownId);
    const rival = findForwardRival(input, others);
    if (rival === undefined) return;
    throw new PosthornError(
      "conflict",
      `mode: the subscription "${rival.name}" (${rival.id}) forwards some of these events already, and a source waits ` +
        "for one only. Choose other patterns, or let one of the two queue.",
      { field: "mode", details: { subscription_id: rival.id } },
    );
  }

  async function insert(
    input: SubscriptionInput,
    id: string,
    managedBy: ManagedBy,
    createdBy: string | undefined,
  ): Promise<Subscription> {
    check(input);
    if (managedBy !== "config") refuseRival(input, id);
    const { secret: _, status, ...rest } = input;
    const keys = applyKeyInput(undefined, input, { random, now: clock.now(), isDeclared: managedBy === "config" });
    const at = clock.wall();
    const tenantId = input.tenant_id ?? DEFAULT_TENANT;
    const row = {
      id,
      tenantId,
      name: input.name,
      status: status ?? "active",
      settings: sealSettings(rest, secretBox, ownerOf({ tenantId, id })),
      managedBy,
      createdBy,
      createdAt: at,
      updatedAt: at,
    };
    const seq = await store.insertSubscription({ ...row, secrets: seal(keys, row) });
    return announce(remember({ ...row, seq, breaker: undefined, deletedAt: undefined }, keys));
  }

  function seal(keys: SigningKeys, owner: { tenantId: string; id: string }): Uint8Array {
    return secretBox.seal(formatSigningKeys(keys), ownerOf(owner));
  }

  function announce(subscription: Subscription): Subscription {
    options.onChange(subscription);
    return subscription;
  }

  async function update(subscription: Subscription, input: SubscriptionInput, managedBy: ManagedBy) {
    check(input);
    if (managedBy !== "config") refuseRival(input, subscription.id);
    const { secret: _, status, ...rest } = input;
    const known = keysBySeq.get(subscription.seq);
    const keys = applyKeyInput(known, input, { random, now: clock.now(), isDeclared: managedBy === "config" });
    const at = clock.wall();
    const row = {
      name: input.name,
      status: status ?? subscription.status,
      settings: sealSettings(rest, secretBox, ownerOf(subscription)),
      managedBy,
    };
    // Only when they change: a rotation may be on its way to the store.
    const secrets = keys === known ? {} : { secrets: seal(keys, subscription) };
    await store.updateSubscription(subscription.seq, { ...row, ...secrets }, at);
    const { seq, id, tenantId, createdAt, createdBy } = subscription;
    const fixed = { seq, id, tenantId, createdAt, createdBy, updatedAt: at, breaker: undefined, deletedAt: undefined };
    const latest = keys === known ? (keysBySeq.get(seq) ?? keys) : keys;
    const changed = announce(remember({ ...row, ...fixed }, latest));
    if (subscription.status !== "active" && changed.status === "active") {
      options.onResumed?.(changed, subscription.status);
    }
    if (subscription.ordered && subscription.onDeadHead === "block" && changed.onDeadHead === "skip") {
      await store.skipDeadHeads(seq, clock.now());
      announce(changed);
    }
    return changed;
  }

  async function setStatus(subscription: Subscription, status: SubscriptionStatus): Promise<Subscription> {
    const at = clock.wall();
    await store.updateSubscription(subscription.seq, { status }, at);
    const current = bySeq.get(subscription.seq);
    const changed = { ...(current ?? subscription), status, updatedAt: at };
    // It may have been deleted meanwhile, and must not come back.
    if (current === undefined) return changed;
    bySeq.set(subscription.seq, changed);
    return announce(changed);
  }

  async function saveKeys(subscription: Subscription, keys: SigningKeys): Promise<Subscription> {
    const { seq, id } = subscription;
    const at = clock.wall();
    await store.updateSubscription(seq, { secrets: seal(keys, subscription) }, at);
    const current = bySeq.get(seq);
    if (current === undefined) throw new PosthornError("not_found", `There is no subscription ${id}.`);
    const changed = { ...current, ...toEngineKeys(keys), updatedAt: at };
    bySeq.set(seq, changed);
    keysBySeq.set(seq, keys);
    return announce(changed);
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
    for (const subscription of bySeq.values()) {
      if (subscription.id === id)
        return tenantId === undefined || tenantId === subscription.tenantId ? subscription : undefined;
    }
    return undefined;
  }

  return {
    find: (seq) => bySeq.get(seq),
    findById,
    getById(id, tenantId) {
      const subscription = findById(id, tenantId);
      if (subscription === undefined) throw new PosthornError("not_found", `There is no subscription ${id}.`);
      return subscription;
    },
    list: (tenantId) => [...bySeq.values()].filter((one) => tenantId === undefined || one.tenantId === tenantId),
    settingsOf: (subscription) => settings.get(subscription.seq) as Settings,
    create: (input, id, createdBy) => insert(input, id ?? options.createId("sub"), "api", createdBy),
    async replace(subscription, input) {
      refuseManaged(subscription);
      const current = settings.get(subscription.seq) as Settings;
      refuseCarriedCredentials(input, current, true);
      const restored = restoreMasked(input, current);
      return update(subscription, { ...restored, tenant_id: subscription.tenantId }, "api");
    },
    keysOf: (subscription) => keysBySeq.get(subscription.seq) as SigningKeys,
    saveKeys,
    wasDeleted(id, tenantId) {
      const owner = tenantOfDeleted.get(id);
      return owner !== undefined && (tenantId === undefined || tenantId === owner);
    },
    async change(subscription, change) {
      refuseManaged(subscription);
      const current = settings.get(subscription.seq) as Settings;
      refuseCarriedCredentials(change, current, false);
      return update(subscription, mergeChange(current, restoreMasked(change, current)), "api");
    },
    setStatus,
    async remove(subscription) {
      refuseManaged(subscription);
      const { seq } = subscription;
      const before = await countersOf(seq);
      const isMany = before.open > MAX_CANCELLED_AT_ONCE;
      // In one turn, and so in one transaction: nothing is left that nobody would cancel.
      const [, job] = await Promise.all([
        store.deleteSubscription(seq, clock.wall()),
        isMany ? options.cancelLater?.(subscription, before.open) : undefined,
      ]);
      bySeq.delete(seq);
      tenantOfDeleted.set(subscription.id, subscription.tenantId);
      announce(subscription);
      if (job !== undefined) return { cancelled: before.open, jobId: job.id };
      await cancelOpen(seq);
      // Counted by the store: the scheduler, too, cancels what it finds of a subscription that is gone.
      return { cancelled: (await countersOf(seq)).cancelled - before.cancelled, jobId: undefined };
    },
    async saveBreaker(subscription, breaker) {
      await store.updateSubscription(subscription.seq, { breaker: JSON.stringify(breaker) }, subscription.updatedAt);
    },
    findSavedBreaker: (seq) => breakers.get(seq),
    async applyDeclared(declared) {
      const ids = new Set<string>();
      for (const input of declared) {
        const id = stableId("sub", `${input.tenant_id ?? DEFAULT_TENANT}\0${input.name}`);
        ids.add(id);
        const known = findById(id, undefined);
        if (known === undefined) {
          await insert(input, id, "config", "config");
        } else {
          // A status that an operator or a failing destination set stays; one that came back to the file starts anew.
          const returned = known.managedBy === "former_config" ? { status: "active" as const } : {};
          await update(known, { ...returned, ...input }, "config");
        }
      }
      const left = [...bySeq.values()].filter(({ managedBy, id }) => managedBy === "config" && !ids.has(id));
      for (const subscription of left) {
        await store.updateSubscription(subscription.seq, { managedBy: "former_config" }, clock.wall());
        bySeq.set(subscription.seq, { ...subscription, managedBy: "former_config" });
        await setStatus(subscription, "inactive");
      }
      return { left: left.map(({ name }) => name) };
    },
    retarget() {
      for (const current of bySeq.values()) {
        const input = settings.get(current.seq) as Settings;
        if (input.target === undefined || input.target === null || isPresetName(input.target)) continue;
        const keys = keysBySeq.get(current.seq) as SigningKeys;
        const changed = toSubscription(current, input, keys, findShared(input, current.tenantId));
        bySeq.set(current.seq, changed);
        announce(changed);
      }
    },
    async resume() {
      for (const seq of deleted) if (options.isCancelling?.(seq) !== true) await cancelOpen(seq);
      for (const subscription of bySeq.values()) {
        if (!subscription.ordered || subscription.onDeadHead === "block") continue;
        // The store knows no settings: what it gave up at this start keeps its place.
        if ((await store.skipDeadHeads(subscription.seq, clock.now())) > 0) announce(subscription);
      }
    },
  };
}

function refuseManaged(subscription: Subscription): void {
  if (subscription.managedBy !== "config") return;
  throw new PosthornError(
    "managed_by_config",
    `The subscription "${subscription.name}" is declared in posthorn.yaml. Change it there and reload with SIGHUP.`,
  );
}

/** One way to retry at a time: a change of the one takes the other away. */
function mergeChange(current: Settings, change: SubscriptionChange): SubscriptionInput {
  const merged: SubscriptionInput = { ...current, ...change };
  if (change.retry_policy !== undefined && change.retry_count === undefined && change.retry_interval === undefined) {
    delete merged.retry_count;
    delete merged.retry_interval;
  }
  if (change.retry_policy === undefined && (change.retry_count ?? change.retry_interval) !== undefined) {
    delete merged.retry_policy;
  }
  return merged;
}

function ownerOf(row: { tenantId: string; id: string }): string {
  return `subscription/${row.tenantId}/${row.id}`;
}

function toFilter(given: SubscriptionInput["event_filter"]): Filter | undefined {
  return given === undefined || given === null ? undefined : parseFilter(given);
}

type SubscriptionFacts = Pick<
  SubscriptionRow,
  "seq" | "id" | "tenantId" | "name" | "status" | "managedBy" | "createdBy" | "createdAt" | "updatedAt"
>;

/** Those of its own target; the usual ones need no place. */
function ownRules(input: Settings) {
  const health = findHealth(input.health_url, findPreset(input.target), input.url);
  const isUsual = health === undefined && THRESHOLDS.every((name) => input[name] === undefined);
  if (isUsual) return undefined;
  const { health_interval_s, failures_to_open, successes_to_close } = input;
  return toTargetRules(
    {
      ...(health_interval_s !== undefined && { health_interval_s }),
      ...(failures_to_open !== undefined && { failures_to_open }),
      ...(successes_to_close !== undefined && { successes_to_close }),
    },
    health,
  );
}

function hasHealthCheck(input: Settings, shared: TargetInput | undefined): boolean {
  if (shared === undefined) return ownRules(input)?.health !== undefined;
  return findHealth(shared.health_url, findPreset(shared.preset), shared.url) !== undefined;
}

function toSubscription(
  row: SubscriptionFacts,
  input: Settings,
  keys: SigningKeys,
  shared: TargetInput | undefined,
): Subscription {
  const preset = presetSettings(input, shared);
  const { secrets, nextSecret, ed25519Key } = toEngineKeys(keys);
  const isFixed = input.retry_count !== undefined || input.retry_interval !== undefined;
  return {
    seq: row.seq,
    id: row.id,
    tenantId: row.tenantId,
    name: row.name,
    kind: "http",
    url: input.url,
    events: input.events,
    filter: toFilter(input.event_filter),
    status: row.status as SubscriptionStatus,
    format: input.format ?? "auto",
    signatureHeader: input.signature_header ?? "X-Webhook-Signature",
    secrets,
    nextSecret,
    ed25519Key,
    retryPolicy: isFixed
      ? fixedInterval(input.retry_count ?? 3, input.retry_interval ?? 60)
      : (input.retry_policy ?? preset.retryPolicy ?? "standard"),
    retryOn: {
      statuses: input.retry_on?.statuses ?? [],
      sourceStatuses: preset.sourceStatuses,
      bodyContains: input.retry_on?.body_contains,
      bodyIs: preset.retryBody,
    },
    timeoutMs: (input.timeout ?? 30) * 1000,
    rateLimitPerMinute: input.rate_limit ?? undefined,
    concurrency: input.concurrency ?? 32,
    ordered: input.ordered ?? false,
    onDeadHead: input.on_dead_head ?? "block",
    maxAgeMs: input.max_age_s === undefined || input.max_age_s === null ? undefined : input.max_age_s * 1000,
    suspension: toSuspensionRules(input, hasHealthCheck(input, shared)),
    headers: input.headers ?? {},
    allowedIps: input.allowed_ips ?? undefined,
    auth: toDestinationAuth(input.auth),
    mode: input.mode ?? "queue",
    forwardHeaders: input.forward_headers?.map((name) => name.toLowerCase()),
    allowOwnUrl: input.allow_own_url ?? false,
    sharedTarget: shared?.name,
    targetRules: shared === undefined ? ownRules(input) : undefined,
    maxBytes: preset.maxBytes,
    wantsPlainJson: preset.wantsPlainJson,
    description: input.description,
    managedBy: row.managedBy,
    createdBy: row.createdBy,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}
