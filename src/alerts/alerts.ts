import {
  MAX_NAMED_CAUSES,
  type Acknowledgement,
  type ActiveRule,
  type Alert,
  type AlertGroup,
  type Cause,
  type Mute,
  type Telling,
} from "../model/alert.ts";
import { type AlertRuleName, worstOf } from "../model/alert-rules.ts";
import { type Clock, startRounds, type Rounds } from "../model/clock.ts";
import { PosthornError } from "../model/errors.ts";
import { DEFAULT_TENANT } from "../model/event.ts";
import type { Draft } from "../resources/draft.ts";
import type { Registry } from "../resources/registry.ts";
import type { OwnEvents } from "../accept/ingest.ts";
import { nameCauses, toAlertEvent } from "./alert-events.ts";
import type { Facts } from "./facts.ts";
import { isInForce, isMuted, toKnown, type Ending } from "./decide.ts";
import { createEvaluator, type Decided } from "./evaluate.ts";
import type { Resource } from "../resources/resource.ts";

/**
 * Evaluates the rules at intervals and reports each problem once. An alert is stored together with the event that
 * reports it, so that it is neither lost nor reported twice, whatever happens to the process.
 */
export type Alerts = Awaited<ReturnType<typeof openAlerts>>;

export interface ShownAlert extends Alert {
  rule: ActiveRule;
  tenantId: string;
  mutes: readonly Mute[];
  isMuted: boolean;
}

export type ShownRule = ReturnType<Alerts["listRules"]>[number];

interface MuteRequest {
  by: string;
  note?: string | undefined;
  cause?: string | undefined;
  /** By default until it is unmuted. */
  forMs?: number | undefined;
}

const MAX_WRITTEN_AT_ONCE = 100;
const KEPT_TELLINGS = 10;

export async function openAlerts(options: {
  registry: Registry;
  ownEvents: Pick<OwnEvents, "publishWith">;
  clock: Clock;
  createId: (prefix: "alr") => string;
  rules: readonly ActiveRule[];
  loadFacts: () => Promise<Facts>;
  /** Nothing is reported for a tenant that is being erased. */
  isErasing: (tenantId: string) => boolean;
  everyMs: number;
  onFired: (alert: ShownAlert) => void;
  onCleared: (alert: ShownAlert, ending: Ending) => void;
  onFault: (error: unknown) => void;
}) {
  const { registry, ownEvents, clock, createId, loadFacts, everyMs, onFault } = options;
  let rules = byName(options.rules);
  const groups = await registry.open(ALERT_GROUPS);
  const evaluator = createEvaluator(groups, options.isErasing);
  const soon = new Set<AlertRuleName>();
  let rounds: Rounds | undefined;
  let nextAt = 0;

  async function evaluateRules(names: ReadonlySet<AlertRuleName>): Promise<void> {
    const facts = await loadFacts();
    const wanted = [...rules.values()].filter(({ name }) => names.has(name));
    const decided = wanted.flatMap((rule) => evaluator.evaluate(rule, facts));
    for (let at = 0; at < decided.length; at += MAX_WRITTEN_AT_ONCE) {
      await write(decided.slice(at, at + MAX_WRITTEN_AT_ONCE));
    }
  }

  async function evaluate(): Promise<void> {
    soon.clear();
    nextAt = clock.now() + everyMs;
    await evaluateRules(new Set(rules.keys()));
  }

  async function run(): Promise<void> {
    if (clock.now() >= nextAt) return evaluate();
    const names = new Set(soon);
    soon.clear();
    await evaluateRules(names);
  }

  async function write(decided: readonly Decided[]): Promise<void> {
    const notices: (() => void)[] = [];
    await registry.change(groups, (draft) => {
      notices.length = 0;
      for (const one of decided) {
        const group = draft.find(groups, one.rule.name, one.tenantId)?.thing ?? emptyGroup(one.rule.name, one.tenantId);
        const { ending } = one;
        const { next, alert } = ending === undefined ? fire(draft, one, group) : clear(draft, one, group, ending);
        draft.put(groups, next);
        const shown = () => show(next, alert);
        notices.push(() => (ending === undefined ? options.onFired(shown()) : options.onCleared(shown(), ending)));
      }
    });
    notices.forEach((run) => run());
  }

  function fire(draft: Draft, { rule, tenantId, causes }: Decided, group: AlertGroup) {
    const now = clock.now();
    const { current } = group;
    const start = { firedAt: clock.wall(), clearedAt: undefined, acknowledged: undefined, told: [] };
    const alert: Alert = {
      ...(current ?? { id: createId("alr"), ...start }),
      ...nameCauses(causes),
      severity: rule.severity,
      threshold: rule.threshold,
      value: worst(rule, causes),
      known: [],
    };
    if (isMuted(group.mutes, now)) return { alert, next: { ...group, current: alert } };
    const told = { ...alert, known: toKnown(causes), told: notify(draft, rule, tenantId, alert) };
    return { alert: told, next: { ...group, current: told, lastToldAt: now } };
  }

  function clear(draft: Draft, { rule, tenantId }: Decided, group: AlertGroup, ending: Ending) {
    const known = group.current as Alert;
    const alert: Alert = { ...known, clearedAt: clock.wall() };
    // Report the end only if the start was reported.
    const told = known.told.length > 0 ? notify(draft, rule, tenantId, alert, ending) : known.told;
    return { alert, next: withCleared(group, { ...alert, told }) };
  }

  function notify(draft: Draft, rule: ActiveRule, tenantId: string, alert: Alert, ending?: Ending): readonly Telling[] {
    const event = toAlertEvent(rule, tenantId, alert, ending);
    const eventId = ownEvents.publishWith(draft, event);
    return [{ type: event.type, eventId, at: clock.wall() }, ...alert.told].slice(0, KEPT_TELLINGS);
  }

  function show(group: AlertGroup, alert: Alert): ShownAlert {
    const now = clock.now();
    const mutes = group.mutes.filter((mute) => isInForce(mute, now));
    const rule = rules.get(group.rule) as ActiveRule;
    return { ...alert, rule, tenantId: group.tenantId, mutes, isMuted: isMuted(mutes, now) };
  }

  /** The alert with its current causes, which may be more than were reported. */
  function showCurrent(group: AlertGroup, current: Alert): ShownAlert {
    const causes = evaluator.causesOf(group.rule, group.tenantId);
    if (causes.length === 0) return show(group, current);
    const rule = rules.get(group.rule) as ActiveRule;
    return show(group, { ...current, ...nameCauses(causes), value: worst(rule, causes) });
  }

  function showAll(group: AlertGroup): ShownAlert[] {
    // A newer release wrote this rule.
    if (!rules.has(group.rule)) return [];
    const past = group.past.map((alert) => show(group, alert));
    return group.current === undefined ? past : [showCurrent(group, group.current), ...past];
  }

  function findGroup(id: string, tenantId: string | undefined): AlertGroup {
    const found = groups.list().find(({ thing }) => {
      if (tenantId !== undefined && thing.tenantId !== tenantId) return false;
      return thing.current?.id === id || thing.past.some((alert) => alert.id === id);
    });
    if (found === undefined) throw new PosthornError("not_found", `There is no alert ${id}.`);
    return found.thing;
  }

  function getOf(group: AlertGroup, id: string): ShownAlert {
    const shown = showAll(group).find((alert) => alert.id === id);
    if (shown === undefined) throw new PosthornError("not_found", `There is no alert ${id}.`);
    return shown;
  }

  const get = (id: string, tenantId: string | undefined) => getOf(findGroup(id, tenantId), id);

  /** A mute of a cause that the alert does not have would mute nothing. */
  function rejectUnknownCause(group: AlertGroup, id: string, cause: string): void {
    const { causes, count } = getOf(group, id);
    const found = evaluator
      .lastOf(group.rule)
      .causes.filter(({ tenantId = DEFAULT_TENANT }) => ["", tenantId].includes(group.tenantId));
    const keys = new Set([...causes, ...found].map(({ key }) => key));
    for (const mute of group.mutes) if (mute.cause !== undefined) keys.add(mute.cause);
    // After a restart only the first causes are known until the next evaluation.
    if (keys.has(cause) || keys.size < count) return;
    const named = [...keys].slice(0, MAX_NAMED_CAUSES);
    const others = keys.size > named.length ? ` and ${keys.size - named.length} more` : "";
    throw new PosthornError(
      "invalid_field",
      `The alert ${id} has no cause "${cause}". It has: ${named.map((key) => `"${key}"`).join(", ")}${others}.`,
      { field: "cause" },
    );
  }

  async function change(
    id: string,
    tenantId: string | undefined,
    toChanged: (group: AlertGroup) => AlertGroup,
  ): Promise<ShownAlert> {
    await registry.change(groups, (draft) => {
      const { rule, tenantId: of } = findGroup(id, tenantId);
      draft.put(groups, toChanged(draft.get(groups, rule, of).thing));
    });
    return get(id, tenantId);
  }

  return {
    start(): void {
      nextAt = clock.now() + everyMs;
      rounds = startRounds({ clock, everyMs: () => (soon.size > 0 ? 0 : nextAt - clock.now()), run, onFault });
    },
    /** Evaluates this rule soon, because something that it looks at has changed. */
    lookSoon(rule: AlertRuleName): void {
      soon.add(rule);
      rounds?.reschedule();
    },
    /** The new thresholds apply from the next evaluation on. */
    setRules(given: readonly ActiveRule[]): void {
      rules = byName(given);
    },
    /** Resolves when the current facts were evaluated and the result is written. */
    evaluate,
    /** Latest first; of the whole gateway (`""`), or of one tenant. */
    list: (tenantId: string) =>
      groups
        .list()
        .filter((entry) => entry.tenantId === tenantId)
        .flatMap(({ thing }) => showAll(thing))
        .sort((one, other) => (one.id < other.id ? 1 : -1)),
    get,
    /** The rules of the whole gateway. `worst` is undefined when nothing was measured. */
    listRules: () =>
      [...rules.values()].map((rule) => {
        const { measured, causes } = evaluator.lastOf(rule.name);
        const active = groups.find(rule.name, "")?.thing.current;
        const values = measured.map(({ value }) => value);
        return { ...rule, worst: worstOf(rule, values), measured: values.length, badCount: causes.length, active };
      }),
    countActive: (tenantId: string) =>
      groups.list().filter((entry) => entry.tenantId === tenantId && entry.thing.current !== undefined).length,
    acknowledge: (id: string, tenantId: string | undefined, by: string, note: string | undefined) =>
      change(id, tenantId, (group) => {
        if (group.current?.id !== id) throw new PosthornError("conflict", `The alert ${id} has cleared.`);
        const acknowledged: Acknowledgement = { at: clock.wall(), by, note };
        return { ...group, current: { ...group.current, acknowledged } };
      }),
    mute: (id: string, tenantId: string | undefined, { by, note, cause, forMs }: MuteRequest) =>
      change(id, tenantId, (group) => {
        if (cause !== undefined) rejectUnknownCause(group, id, cause);
        const now = clock.now();
        const until = forMs === undefined ? undefined : now + forMs;
        const others = group.mutes.filter((mute) => isInForce(mute, now) && mute.cause !== cause);
        return { ...group, mutes: [...others, { cause, until, at: clock.wall(), by, note }] };
      }),
    unmute: (id: string, tenantId: string | undefined, cause: string | undefined) =>
      change(id, tenantId, (group) => {
        const mutes = group.mutes.filter((mute) => cause !== undefined && mute.cause !== cause);
        return { ...group, mutes };
      }),
    async stop(): Promise<void> {
      await rounds?.stop();
    },
  };
}

function byName(rules: readonly ActiveRule[]): ReadonlyMap<AlertRuleName, ActiveRule> {
  return new Map(rules.map((rule) => [rule.name, rule]));
}

function worst(rule: ActiveRule, causes: readonly Cause[]): number {
  const values = causes.map(({ value }) => value);
  return worstOf(rule, values) ?? 0;
}

/** How many cleared alerts are kept for each rule and tenant. */
const KEPT = 20;

/** One record for each rule and tenant: the history is limited, and nothing is fired again after a restart. */
const ALERT_GROUPS: Resource<AlertGroup> = {
  kind: "alert",
  noun: "alert",
  format: 1,
  read({ id, tenantId, data }) {
    const { current, past, mutes, lastToldAt } = JSON.parse(data) as Kept;
    return { rule: id as AlertGroup["rule"], tenantId, current, past: past ?? [], mutes: mutes ?? [], lastToldAt };
  },
  write({ current, past, mutes, lastToldAt }) {
    return { data: JSON.stringify({ current, past, mutes, lastToldAt } satisfies Kept) };
  },
  keyOf: ({ rule, tenantId }) => ({ tenantId, id: rule }),
  changesByItself: true,
  show: ({ current, mutes }) => ({ alert: current?.id, acknowledged: current?.acknowledged, mutes }),
  verbOf(before, after) {
    if (!isSame(before.current?.acknowledged, after.current?.acknowledged)) return "acknowledge";
    const isAdded = after.mutes.some((mute) => !before.mutes.some((one) => isSame(one, mute)));
    return isAdded ? "mute" : "unmute";
  },
};

/** As JSON, because members that are undefined are not stored. */
function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

interface Kept extends Omit<Partial<AlertGroup>, "rule" | "tenantId"> {
  past?: readonly Alert[];
}

function emptyGroup(rule: AlertGroup["rule"], tenantId: string): AlertGroup {
  return { rule, tenantId, current: undefined, past: [], mutes: [], lastToldAt: undefined };
}

function withCleared(group: AlertGroup, cleared: Alert): AlertGroup {
  // Nothing can be news for an alert that has cleared.
  return { ...group, current: undefined, past: [{ ...cleared, known: [] }, ...group.past].slice(0, KEPT) };
}
