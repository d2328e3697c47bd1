import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { sendJson } from "../../api/client.ts";
import { pagedQuery } from "../../api/paged.ts";
import type { Key, KeyWithSecret } from "../../api/types.ts";
import { ListPage } from "../../layout/list-page.tsx";
import { useView } from "../../layout/use-view.ts";
import { useSession } from "../../session/session.tsx";
import { apiCommand } from "../../ui/api-command.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { SearchFilter, TenantFilter } from "../../ui/filters.tsx";
import { OnceDialog } from "../../ui/once.tsx";
import { hasText } from "../../ui/text-search.ts";
import { AbsoluteTime, RelativeTime } from "../../ui/time.tsx";
import { useAction } from "../../ui/use-action.ts";
import { ChoiceFilter } from "../../ui/view-filters.tsx";
import { CreateKeyDialog } from "./create-key-dialog.tsx";

const FILTERS = ["search", "status", "tenant_id"] as const;

export function KeysPage() {
  const view = useView();
  const query = useInfiniteQuery(pagedQuery<Key>("keys", "/api/v1/keys", { tenant_id: view.get("tenant_id") }));
  const [isCreating, setCreating] = useState(false);
  const [made, setMade] = useState<KeyWithSecret>();
  const [revoked, setRevoked] = useState<Key>();
  const status = view.get("status");

  return (
    <>
      <ListPage
        title="Keys"
        noun="key"
        actions={
          <Button kind="primary" onClick={() => setCreating(true)}>
            Create key
          </Button>
        }
        view={view}
        filterNames={FILTERS}
        filters={
          <>
            <SearchFilter view={view} hint="Name or id" />
            <ChoiceFilter
              view={view}
              name="status"
              label="Status"
              options={{ active: "active", expired: "expired", revoked: "revoked" }}
            />
            <TenantFilter view={view} />
          </>
        }
        query={query}
        isWanted={(key) =>
          (status === undefined || key.status === status) && hasText([key.name, key.id, key.prefix], view.get("search"))
        }
        empty={
          <EmptyState
            title="There are no keys"
            command={apiCommand("/api/v1/keys", { name: "shop", scopes: ["publish"] })}
          >
            Create a key for each program or person that uses the gateway.
          </EmptyState>
        }
      >
        {(keys) => <KeyTable keys={keys} onRevoke={setRevoked} />}
      </ListPage>
      {isCreating && <CreateKeyDialog onClose={() => setCreating(false)} onMade={setMade} />}
      {made !== undefined && (
        <OnceDialog title={`The key ${made.name}`} text={made.key} onClose={() => setMade(undefined)}>
          Copy it now. The gateway keeps only a hash of it and cannot show it again.
        </OnceDialog>
      )}
      <RevokeDialog revoked={revoked} onClose={() => setRevoked(undefined)} />
    </>
  );
}

function KeyTable({ keys, onRevoke }: { keys: readonly Key[]; onRevoke: (key: Key) => void }) {
  const { key_id: own } = useSession();
  return (
    <section className="card" aria-label="Keys">
      <DataTable
        rows={keys}
        keyOf={({ id }) => id}
        columns={[
          { title: "Name", cell: (key) => <KeyName apiKey={key} isOwn={key.id === own} /> },
          { title: "Scopes", cell: ({ scopes }) => scopes.join(", ") },
          { title: "Tenant", cell: ({ tenant_id: tenantId }) => <TenantLink tenantId={tenantId} /> },
          {
            title: "Status",
            cell: ({ status }) => <Badge state={status} tone={status === "active" ? "good" : "neutral"} />,
          },
          { title: "Created", cell: ({ created_at: at }) => <RelativeTime at={at} /> },
          {
            title: "Expires",
            cell: ({ expires_at: at }) =>
              at === null ? <span className="muted">never</span> : <AbsoluteTime at={at} />,
          },
        ]}
        actions={(key) =>
          key.status === "active" && (
            <Button kind="quiet" aria-label={`Revoke ${key.name}`} onClick={() => onRevoke(key)}>
              Revoke
            </Button>
          )
        }
      />
    </section>
  );
}

function KeyName({ apiKey: { id, name, prefix }, isOwn }: { apiKey: Key; isOwn: boolean }) {
  return (
    <>
      <strong>{name}</strong> {isOwn && <Badge state="yours" />}
      <br />
      <code className="muted small">
        {id}
        {prefix !== null && ` · ${prefix}…`}
      </code>
    </>
  );
}

function TenantLink({ tenantId }: { tenantId: string | null }) {
  if (tenantId === null) return <span className="muted">all</span>;
  return <Link href={`/tenants/${encodeURIComponent(tenantId)}`}>{tenantId}</Link>;
}

function RevokeDialog({ revoked, onClose }: { revoked: Key | undefined; onClose: () => void }) {
  const { key_id: own } = useSession();
  const revoke = useAction({
    run: (id: string) => sendJson("DELETE", `/api/v1/keys/${encodeURIComponent(id)}`),
    changes: ["keys", "session"],
    says: "The key is revoked.",
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      isOpen={revoked !== undefined}
      onClose={onClose}
      title={`Revoke ${revoked?.name ?? "this key"}?`}
      action="Revoke"
      onConfirm={() => revoked !== undefined && revoke.mutate(revoked.id)}
      isBusy={revoke.isPending}
    >
      <p>
        Requests with this key are rejected at once, and portal links that it created stop working. This cannot be
        undone.
      </p>
      {revoked?.id === own && (
        <p>
          <strong>You are signed in with this key: you will be signed out.</strong>
        </p>
      )}
    </ConfirmDialog>
  );
}
