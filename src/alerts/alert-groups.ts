import type { Alert, AlertGroup } from "../model/alert.ts";
import type { Resource } from "../resources/resource.ts";

/** How many cleared alerts are kept for each rule and tenant. */
const KEPT = 20;

/** One record for each rule and tenant: the history is limited, and nothing is fired again after a restart. */
export const ALERT_GROUPS: Resource<AlertGroup> = {
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

export function emptyGroup(rule: AlertGroup["rule"], tenantId: string): AlertGroup {
  return { rule, tenantId, current: undefined, past: [], mutes: [], lastToldAt: undefined };
}

export function withCleared(group: AlertGroup, cleared: Alert): AlertGroup {
  // Nothing can be news for an alert that has cleared.
  return { ...group, current: undefined, past: [{ ...cleared, known: [] }, ...group.past].slice(0, KEPT) };
}
