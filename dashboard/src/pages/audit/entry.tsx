import { useState } from "react";
import { Link } from "wouter";
import type { AuditEntry } from "../../api/types.ts";
import { Badge } from "../../ui/badge.tsx";
import { Diff } from "../../ui/diff.tsx";
import { KeyValues } from "../../ui/key-values.tsx";
import { AbsoluteTime, RelativeTime } from "../../ui/time.tsx";

/** Pages of things, by their kind. */
const PAGES: Readonly<Record<string, string>> = {
  subscription: "subscriptions",
  source: "sources",
  target: "targets",
  tenant: "tenants",
  event_type: "event-types",
  validation: "validation",
  event: "events",
  alert: "alerts",
  replay: "bulk",
};

export function Entry({ entry }: { entry: AuditEntry }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="entry" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <span className="nowrap">
          <RelativeTime at={entry.at} />
        </span>
        <strong className="ellipsis">{entry.act}</strong>
        <code className="ellipsis small">{entry.id}</code>
        <span className="muted ellipsis small">{entry.actor}</span>
      </summary>
      {isOpen && <EntryBody entry={entry} />}
    </details>
  );
}

function EntryBody({ entry }: { entry: AuditEntry }) {
  const { kind, id, before, after, details } = entry;
  const page = PAGES[kind];
  const trail = `/audit?${new URLSearchParams({ kind, id }).toString()}`;
  return (
    <div className="entry-body">
      <KeyValues
        rows={[
          ["Number", entry.seq],
          ["When", <AbsoluteTime key="w" at={entry.at} />],
          [
            "By",
            <Link key="b" href={`/audit?${new URLSearchParams({ actor: entry.actor }).toString()}`}>
              {entry.actor}
            </Link>,
          ],
          ["Through", entry.via],
          ["From", entry.address],
          ["About", `${kind.replaceAll("_", " ")} ${id}`],
          ["Tenant", entry.tenant_id],
          [
            "See also",
            <span key="l" className="alert-head">
              {page !== undefined && <Link href={`/${page}/${encodeURIComponent(id)}`}>Open it</Link>}
              <Link href={trail}>
                {kind === "subscription" ? "History of this subscription" : "All entries about it"}
              </Link>
            </span>,
          ],
          ["Details", details === null ? undefined : <code key="d">{JSON.stringify(details)}</code>],
          [
            "Hash",
            <code key="h" className="small">
              {entry.hash}
            </code>,
          ],
        ]}
      />
      {entry.erased && (
        <p>
          <Badge state="erased" /> What this entry said was erased with its tenant.
        </p>
      )}
      {(before !== null || after !== null) && (
        <Diff before={toText(before)} after={toText(after)} label="Before and after" />
      )}
    </div>
  );
}

function toText(value: unknown): string {
  return value === null ? "" : JSON.stringify(value, undefined, 2);
}
