import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { sendJson } from "../../api/client.ts";
import { pagedQuery } from "../../api/paged.ts";
import type { Key, NewKey } from "../../api/types.ts";
import { PageHead } from "../../layout/shell.tsx";
import { SEARCH_ID } from "../../layout/shortcuts.tsx";
import { useView } from "../../layout/use-view.ts";
import { useSession } from "../../session/session.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { OnceDialog } from "../../ui/once.tsx";
import { PagedList } from "../../ui/paged-list.tsx";
import { AbsoluteTime, RelativeTime } from "../../ui/time.tsx";
import { useAct } from "../../ui/use-act.ts";
import { ChoiceFilter, TextFilter } from "../../ui/view-filters.tsx";
import { CreateKeyDialog } from "./create-key-dialog.tsx";

export function KeysPage() {
  const view = useView();
  const session = useSession();
  const query = useInfiniteQuery(pagedQuery<Key>("keys", "/api/v1/keys", { tenant_id: view.get("tenant_id") }));
  const [isCreating, setCreating] = useState(false);
  const [made, setMade] = useState<NewKey>();
  const [revoked, setRevoked] = useState<Key>();

  return (
    <>
      <PageHead title="Keys">
        <Button kind="primary" onClick={() => setCreating(true)}>
          Create key
        </Button>
      </PageHead>
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <div className="filter-row">
          <TextFilter view={view} name="search" label="Search" id={SEARCH_ID} placeholder="Name or id  ( / )" />
          <ChoiceFilter
            view={view}
            name="status"
            label="Status"
            options={{ active: "active", expired: "expired", revoked: "revoked" }}
          />
          {session.tenant_id === null && <TextFilter view={view} name="tenant_id" label="Tenant" />}
        </div>
      </form>
      <PagedList query={query} empty={<NoKeys />}>
        {(keys) => <KeyTable keys={keys.filter((key) => isWanted(key, view))} onRevoke={setRevoked} />}
      </PagedList>
      {isCreating && <CreateKeyDialog onClose={() => setCreating(false)} onMade={setMade} />}
      {made?.key !== undefined && (
        <OnceDialog title={`The key ${made.name}`} text={made.key} onClose={() => setMade(undefined)}>
          Copy it now. The gateway keeps only a hash of it and cannot show it again.
        </OnceDialog>
      )}
      <RevokeDialog revoked={revoked} onClose={() => setRevoked(undefined)} />
    </>
  );
}

function isWanted(key: Key, view: ReturnType<typeof useView>): boolean {
  const search = view.get("search")?.toLowerCase() ?? "";
  const status = view.get("status");
  if (status !== undefined && key.status !== status) return false;
  return [key.name, key.id, key.prefix ?? ""].some((text) => text.toLowerCase().includes(search));
}

function NoKeys() {
  const command =
    `curl ${location.origin}/api/v1/keys -H "authorization: Bearer $POSTHORN_API_KEY" ` +
    `-H 'content-type: application/json' -d '{"name":"shop","scopes":["publish"]}'`;
  return (
    <EmptyState title="There are no keys" command={command}>
      Create a key for each program or person that uses the gateway.
    </EmptyState>
  );
}

function KeyTable({ keys, onRevoke }: { keys: readonly Key[]; onRevoke: (key: Key) => void }) {
  const { key_id: own } = useSession();
  if (keys.length === 0) return <EmptyState title="No key matches">Change the filters, or clear them.</EmptyState>;
  return (
    <section className="card" aria-label="Keys">
      <table className="table table-stack">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Scopes</th>
            <th scope="col">Tenant</th>
            <th scope="col">Status</th>
            <th scope="col">Created</th>
            <th scope="col">Expires</th>
            <th scope="col">
              <span className="visually-hidden">Acts</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key.id}>
              <td>
                <span>
                  <strong>{key.name}</strong> {key.id === own && <Badge state="yours" />}
                  <br />
                  <code className="muted small">
                    {key.id}
                    {key.prefix !== null && ` · ${key.prefix}…`}
                  </code>
                </span>
              </td>
              <td data-label="Scopes">{key.scopes.join(", ")}</td>
              <td data-label="Tenant">
                {key.tenant_id === null ? (
                  <span className="muted">all</span>
                ) : (
                  <Link href={`/tenants/${encodeURIComponent(key.tenant_id)}`}>{key.tenant_id}</Link>
                )}
              </td>
              <td data-label="Status">
                <span>
                  <Badge state={key.status} tone={key.status === "active" ? "good" : "neutral"} />
                </span>
              </td>
              <td data-label="Created">
                <RelativeTime at={key.created_at} />
              </td>
              <td data-label="Expires">
                {key.expires_at === null ? <span className="muted">never</span> : <AbsoluteTime at={key.expires_at} />}
              </td>
              <td className="table-acts">
                {key.status === "active" && (
                  <Button kind="quiet" aria-label={`Revoke ${key.name}`} onClick={() => onRevoke(key)}>
                    Revoke
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function RevokeDialog({ revoked, onClose }: { revoked: Key | undefined; onClose: () => void }) {
  const { key_id: own } = useSession();
  const revoke = useAct({
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
      act="Revoke"
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
