import type { Subscription } from "../../api/types.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { KeyValues } from "../../ui/key-values.tsx";
import { RelativeTime } from "../../ui/time.tsx";
import { toRow } from "../../ui/value-text.tsx";
import { labelOfKind } from "./kind-labels.ts";

/** Shown elsewhere on the page, or below by their own names. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  "id",
  "name",
  "status",
  "condition",
  "stats",
  "destination",
  "warnings",
  "held_reason",
  "handshake_result",
  "managed_by",
  "can",
  "created_by",
  "created_at",
  "updated_at",
]);
/** What people look for first. */
const FIRST = [
  "kind",
  "url",
  "events",
  "sources",
  "event_filter",
  "tenant_id",
  "tenants",
  "target",
  "mode",
  "description",
];

/** Everything that is set; what is not is left out. */
export function Settings({ subscription }: { subscription: Subscription }) {
  const { id, destination, created_at: createdAt, updated_at: updatedAt, created_by: createdBy } = subscription;
  const all: Readonly<Record<string, unknown>> = { ...subscription, kind: labelOfKind(subscription.kind) };
  const names = [...FIRST, ...Object.keys(all).filter((name) => !FIRST.includes(name))];
  const rows = names.filter((name) => !ELSEWHERE.has(name)).map((name) => [name, all[name]] as const);
  const first = rows.filter(([name]) => FIRST.includes(name));
  const rest = rows.filter(([name, value]) => !FIRST.includes(name) && isSet(value));
  return (
    <section className="card" aria-labelledby="settings-head">
      <h2 id="settings-head">Settings</h2>
      <Rows rows={first} />
      {destination !== undefined && <Rows rows={Object.entries(destination)} />}
      <details className="more">
        <summary>All settings</summary>
        <Rows rows={rest} />
      </details>
      <KeyValues
        rows={[
          [
            "Id",
            <span key="i" className="with-copy">
              <code>{id}</code>
              <CopyButton text={id} />
            </span>,
          ],
          ["Created", <RelativeTime key="c" at={createdAt} />],
          ["Created by", createdBy && <code key="b">{createdBy}</code>],
          ["Changed", updatedAt === createdAt ? undefined : <RelativeTime key="u" at={updatedAt} />],
        ]}
      />
    </section>
  );
}

function Rows({ rows }: { rows: readonly (readonly [string, unknown])[] }) {
  const set = rows.filter(([, value]) => isSet(value));
  return <KeyValues rows={set.map(([name, value]) => toRow(name, value))} />;
}

function isSet(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return false;
  return typeof value !== "object" || Object.keys(value).length > 0;
}
