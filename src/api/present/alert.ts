import type { Mute } from "../../model/alert.ts";
import { presentCause, summarise } from "../../alerts/alert-events.ts";
import type { ShownAlert, ShownRule } from "../../alerts/alerts.ts";
import type { StoredEvent } from "../../store/port/reads.ts";
import type { AnswerOf } from "../openapi/operation-docs.ts";
import type { Alert, AlertRule } from "../routes/alerts.docs.ts";
import { isoTime } from "./time.ts";

/** The results of a message's deliveries; undefined when its event was deleted. */
export type FindTold = (eventId: string) => Pick<StoredEvent, "open" | "delivered" | "dead"> | undefined;

/** The one mapping of an alert to the wire. Mutes end in scheduling time; `wallOf` converts it to wall time. */
export function presentAlert(
  alert: ShownAlert,
  findTold: FindTold,
  wallOf: (until: number) => number,
): AnswerOf<typeof Alert> {
  const { id, rule, tenantId, causes, count, clearedAt, acknowledged } = alert;
  return {
    id,
    rule: rule.name,
    tenant_id: tenantId === "" ? null : tenantId,
    status: clearedAt === undefined ? "active" : "cleared",
    severity: alert.severity,
    summary: summarise(rule, alert),
    action_required: rule.actionRequired,
    value: alert.value,
    threshold: alert.threshold,
    unit: rule.unit,
    count,
    causes: causes.map((cause) => presentCause(cause, tenantId === "")),
    fired_at: new Date(alert.firedAt).toISOString(),
    cleared_at: isoTime(clearedAt) ?? null,
    acknowledged:
      acknowledged === undefined
        ? null
        : { at: new Date(acknowledged.at).toISOString(), by: acknowledged.by, note: acknowledged.note ?? null },
    muted: alert.isMuted,
    mutes: alert.mutes.map((mute) => presentMute(mute, wallOf)),
    told: alert.told.map(({ type, eventId, at }) => {
      const { open = 0, delivered = 0, dead = 0 } = findTold(eventId) ?? {};
      return { event_type: type, event_id: eventId, at: new Date(at).toISOString(), open, delivered, dead };
    }),
  };
}

function presentMute({ cause, until, at, by, note }: Mute, wallOf: (until: number) => number) {
  return {
    cause: cause ?? null,
    until: until === undefined ? null : new Date(wallOf(until)).toISOString(),
    at: new Date(at).toISOString(),
    by,
    note: note ?? null,
  };
}

export function presentRule(rule: ShownRule): AnswerOf<typeof AlertRule> {
  return {
    rule: rule.name,
    description: rule.description,
    enabled: rule.isEnabled,
    severity: rule.severity,
    unit: rule.unit,
    bad: rule.bad,
    threshold: rule.threshold,
    margin: rule.margin,
    window_s: rule.windowS ?? null,
    min_attempts: rule.minAttempts ?? null,
    fires_after: rule.firesAfter,
    clears_after: rule.clearsAfter,
    cool_down_s: rule.coolDownS,
    worst_value: rule.worst ?? null,
    measured: rule.measured,
    bad_now: rule.badCount,
    active_alert: rule.active?.id ?? null,
  };
}
