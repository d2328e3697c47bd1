import { createHash } from "node:crypto";
import type { ActiveRule, Alert, AlertGroup, Cause, Mute } from "../model/alert.ts";
import { DEFAULT_TENANT, GATEWAY_TENANT } from "../model/event.ts";
import { isBad } from "../model/alert-rules.ts";

/** The state of a group between two evaluations; only in memory. */
export interface LiveGroup {
  /** How many evaluations in a row were bad. */
  bad: number;
  good: number;
  /** The causes of the last evaluation, worst first. */
  causes: readonly Cause[];
}

/**
 * `fire` opens an alert. `notify` reports an open one again, because of news or of an ended mute. `clear` ends it.
 */
export type Step = "fire" | "notify" | "clear" | undefined;

/** Why an alert ends: only `over` says that the problem is gone. */
export type Ending = "over" | "muted" | "unwatched";

/** Beyond this number, a further cause is not news. */
const MAX_KNOWN = 1000;

/** The values that the rule finds bad. A value that was bad before must recover by the rule's margin. */
export function findCauses(
  rule: ActiveRule,
  measured: readonly Cause[],
  before: readonly Cause[],
  isUnknown: (cause: Cause) => boolean,
): Cause[] {
  const held = new Set(before.map(({ key }) => key));
  const causes = measured.filter(({ key, value }) => isBad(rule, value, held.has(key)));
  const seen = new Set(measured.map(({ key }) => key));
  causes.push(...before.filter((cause) => !seen.has(cause.key) && isUnknown(cause)));
  const sign = rule.bad === "above" ? -1 : 1;
  return causes.sort((one, other) => sign * (one.value - other.value) || (one.key < other.key ? -1 : 1));
}

/**
 * By tenant; causes of the gateway's own things belong to `default`. All causes together are under `""`, and those of
 * subscriptions for several tenants only there.
 */
export function groupCauses(causes: readonly Cause[]): Map<string, Cause[]> {
  const groups = new Map<string, Cause[]>();
  for (const cause of causes) {
    const owner = cause.tenantId ?? DEFAULT_TENANT;
    for (const tenantId of owner === GATEWAY_TENANT ? [""] : ["", owner]) {
      const group = groups.get(tenantId);
      if (group === undefined) groups.set(tenantId, [cause]);
      else group.push(cause);
    }
  }
  return groups;
}

/** Counts this evaluation in `live`, and returns the next step. `causes` are those that are not muted. */
export function decide(
  rule: ActiveRule,
  live: LiveGroup,
  group: Pick<AlertGroup, "current" | "lastToldAt" | "mutes"> | undefined,
  causes: readonly Cause[],
  now: number,
): Step {
  live.causes = causes;
  live.bad = causes.length > 0 ? live.bad + 1 : 0;
  live.good = causes.length > 0 ? 0 : live.good + 1;
  const current = group?.current;
  if (causes.length === 0) return current !== undefined && live.good >= rule.clearsAfter ? "clear" : undefined;
  const isCool = group?.lastToldAt === undefined || now >= group.lastToldAt + rule.coolDownS * 1000;
  if (current === undefined) return live.bad >= rule.firesAfter && isCool ? "fire" : undefined;
  if (isMuted(group?.mutes ?? [], now)) return undefined;
  if (current.told.length === 0) return isCool ? "notify" : undefined;
  const isLookedAfter = current.acknowledged !== undefined;
  return !isLookedAfter && isCool && hasNews(rule, current, causes) ? "notify" : undefined;
}

export function isMuted(mutes: readonly Mute[], now: number): boolean {
  return mutes.some((mute) => mute.cause === undefined && isInForce(mute, now));
}

export function withoutMuted(causes: readonly Cause[], mutes: readonly Mute[], now: number): readonly Cause[] {
  const muted = new Set(mutes.filter((mute) => isInForce(mute, now)).map(({ cause }) => cause));
  return muted.size === 0 ? causes : causes.filter(({ key }) => !muted.has(key));
}

/** `causes` are all of the group, muted or not. */
export function findEnding({ isEnabled }: Pick<ActiveRule, "isEnabled">, causes: readonly Cause[]): Ending {
  if (!isEnabled) return "unwatched";
  return causes.length > 0 ? "muted" : "over";
}

export function isInForce({ until }: Pick<Mute, "until">, now: number): boolean {
  return until === undefined || now < until;
}

/** The content of a notification, in few bytes. */
export function toKnown(causes: readonly Cause[]): Alert["known"] {
  return causes.slice(0, MAX_KNOWN).map(({ key, value }) => [digestOf(key), value]);
}

function hasNews(rule: ActiveRule, { known }: Alert, causes: readonly Cause[]): boolean {
  const told = new Map(known);
  const isFull = known.length >= MAX_KNOWN;
  return causes.some(({ key, value }) => {
    const before = told.get(digestOf(key));
    if (before === undefined) return !isFull;
    return rule.grows === true && value > before;
  });
}

function digestOf(key: string): string {
  return createHash("sha256").update(key).digest("base64url").slice(0, 12);
}
