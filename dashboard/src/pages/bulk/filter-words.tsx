import { useQuery } from "@tanstack/react-query";
import { subscriptionsQuery } from "../../api/queries.ts";
import type { DeadReason } from "../../api/types.ts";
import { KeyValues } from "../../ui/key-values.tsx";
import { AbsoluteTime } from "../../ui/time.tsx";
import { labelOf } from "../dead-letters/causes.ts";

interface FilterWordsProps {
  filter: object;
}

/** What a job is about, in words. */
export function FilterWords({ filter }: FilterWordsProps) {
  const { data } = useQuery(subscriptionsQuery);
  const text = (name: string) => {
    const value = (filter as Readonly<Record<string, unknown>>)[name];
    return typeof value === "string" ? value : undefined;
  };
  const time = (name: string) => {
    const at = text(name);
    return at === undefined ? undefined : <AbsoluteTime at={at} />;
  };
  const id = text("subscription_id");
  const reason = text("reason");
  const rows = [
    ["Subscription", data?.data.find((one) => one.id === id)?.name ?? id],
    ["Cause", reason && labelOf(reason as DeadReason)],
    ["Type", text("event_type")],
    ["Source", text("source")],
    ["Status", text("status")],
    ["Included", text("include")],
    ["Tenant", text("tenant_id")],
    ["Since", time("since")],
    ["Before", time("until")],
  ] as const;
  if (rows.every(([, value]) => value === undefined))
    return <p className="muted small">Without a filter: all of them.</p>;
  return <KeyValues rows={rows} />;
}
