import { isGatewayEventType } from "../model/pattern.ts";
import type { Logger } from "./logger.ts";

const WARN_AGAIN_MS = 60_000;
/** The limit for all types together: an anonymous sender can invent a new type with each webhook. */
const MAX_LINES = 20;
const MAX_WARNED = 1000;

/** Once a minute for each type, and only a few types a minute: enough to notice, not enough to flood the log. */
export function createEventWarning(logger: Logger, now: () => number, message: string) {
  const warned = new Map<string, { at: number; events: number }>();
  let windowAt = Number.NEGATIVE_INFINITY;
  let lines = 0;
  let untold = 0;

  return ({ id, type, tenantId }: { id?: string; type: string; tenantId: string }): void => {
    // Most tenants do not subscribe to the gateway's own events.
    if (isGatewayEventType(type)) return;
    const at = now();
    if (at - windowAt >= WARN_AGAIN_MS) {
      windowAt = at;
      lines = 0;
    }
    const key = `${tenantId}\0${type}`;
    const known = warned.get(key);
    if (known !== undefined && at - known.at < WARN_AGAIN_MS) return void known.events++;
    if (lines >= MAX_LINES) return void untold++;
    lines++;
    if (warned.size >= MAX_WARNED) warned.clear();
    warned.set(key, { at, events: 0 });
    const facts = { event_id: id, event_type: type, tenant_id: tenantId, events: 1 + (known?.events ?? 0) };
    logger.warn(untold === 0 ? facts : { ...facts, other_events: untold }, message);
    untold = 0;
  };
}
