import { isGatewayEventType } from "../domain/pattern.ts";
import type { Logger } from "./logger.ts";

const WARN_AGAIN_MS = 60_000;
const MAX_WARNED = 1000;

interface WarnedEvent {
  id?: string;
  type: string;
  tenantId: string;
}

/** Once a minute for each type: enough to see it, not enough to flood the log. */
export function createEventWarning(logger: Logger, now: () => number, message: string): (event: WarnedEvent) => void {
  const warnedAt = new Map<string, number>();
  return ({ id, type, tenantId }) => {
    // Most tenants do not ask for what the gateway tells of itself.
    if (isGatewayEventType(type)) return;
    const key = `${tenantId}\0${type}`;
    if (now() - (warnedAt.get(key) ?? Number.NEGATIVE_INFINITY) < WARN_AGAIN_MS) return;
    if (warnedAt.size >= MAX_WARNED) warnedAt.clear();
    warnedAt.set(key, now());
    logger.warn({ event_id: id, event_type: type, tenant_id: tenantId }, message);
  };
}
