import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { DEFAULT_TENANT } from "../../../../src/model/event.ts";
import { subscriptionsQuery } from "../../api/queries.ts";
import type { DeadReason } from "../../api/types.ts";
import { KeyValues } from "../../ui/key-values.tsx";
import { AbsoluteTime } from "../../ui/time.tsx";
import { labelOf } from "../../deliveries/dead-causes.ts";

type Row = readonly [name: string, value: ReactNode];

/** What a job is about, in words: only what it was narrowed by. */
function useFilterRows(filter: object, canLeave: boolean): readonly Row[] {
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
  const name = data?.data.find((one) => one.id === id)?.name;
  const reason = text("reason");
  const rows: readonly Row[] = [
    ["Subscription", canLeave && name !== undefined ? linkTo(id ?? "", name) : (name ?? id)],
    ["Cause", reason && labelOf(reason as DeadReason)],
    ["Type", text("event_type")],
    ["Source", text("source")],
    ["Status", text("status")],
    ["Included", text("include")],
    ["Tenant", text("tenant_id") === DEFAULT_TENANT ? undefined : text("tenant_id")],
    ["Since", time("since")],
    ["Before", time("until")],
  ];
  return rows.filter(([, value]) => value !== undefined);
}

function linkTo(id: string, name: string): ReactNode {
  return <Link href={`/subscriptions/${encodeURIComponent(id)}`}>{name}</Link>;
}

interface FilterWordsProps {
  filter: object;
  /** With ways to what it names: not from a dialog, which would be lost. */
  canLeave?: boolean;
}

export function FilterWords({ filter, canLeave = false }: FilterWordsProps) {
  const rows = useFilterRows(filter, canLeave);
  if (rows.length === 0) return <p className="muted small">Without a filter: all of them.</p>;
  return <KeyValues rows={rows} />;
}

/** The same in one line, for a list. */
export function FilterLine({ filter }: { filter: object }) {
  const rows = useFilterRows(filter, false);
  if (rows.length === 0) return <span>all of them</span>;
  return rows.map(([name, value]) => (
    <span key={name}>
      {name === "Subscription" ? "" : `${name.toLowerCase()} `}
      {value}
    </span>
  ));
}
