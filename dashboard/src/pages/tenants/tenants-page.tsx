import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { sendJson } from "../../api/client.ts";
import type { Tenant, TenantInput } from "../../api/types.ts";
import { PageHead } from "../../layout/shell.tsx";
import { SEARCH_ID } from "../../layout/shortcuts.tsx";
import { useView } from "../../layout/use-view.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { formatBytes, formatCount } from "../../ui/numbers.ts";
import { PagedList } from "../../ui/paged-list.tsx";
import { useAct } from "../../ui/use-act.ts";
import { ChoiceFilter, TextFilter } from "../../ui/view-filters.tsx";
import { tenantsQuery } from "./tenant-queries.ts";

export function TenantsPage() {
  const view = useView();
  const query = useInfiniteQuery(tenantsQuery());
  const [isCreating, setCreating] = useState(false);
  const search = view.get("search")?.toLowerCase() ?? "";
  const status = view.get("status");
  const isWanted = (tenant: Tenant) =>
    (status === undefined || tenant.status === status) &&
    [tenant.id, tenant.name].some((text) => text.toLowerCase().includes(search));
  return (
    <>
      <PageHead title="Tenants">
        <Button kind="primary" onClick={() => setCreating(true)}>
          Create tenant
        </Button>
      </PageHead>
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <div className="filter-row">
          <TextFilter view={view} name="search" label="Search" id={SEARCH_ID} placeholder="Name or id  ( / )" />
          <ChoiceFilter view={view} name="status" label="Status" options={{ active: "active", inactive: "inactive" }} />
        </div>
      </form>
      <PagedList query={query} empty={<NoTenants />}>
        {(tenants) => <TenantTable tenants={tenants.filter(isWanted)} />}
      </PagedList>
      {isCreating && <CreateTenantDialog onClose={() => setCreating(false)} />}
    </>
  );
}

function NoTenants() {
  const command =
    `curl ${location.origin}/api/v1/tenants -H "authorization: Bearer $POSTHORN_API_KEY" ` +
    `-H 'content-type: application/json' -d '{"id":"acme","name":"Acme"}'`;
  return (
    <EmptyState title="There are no tenants yet" command={command}>
      Create a tenant for each customer or team whose webhooks must stay apart.
    </EmptyState>
  );
}

function TenantTable({ tenants }: { tenants: readonly Tenant[] }) {
  if (tenants.length === 0)
    return <EmptyState title="No tenant matches">Change the filters, or clear them.</EmptyState>;
  return (
    <section className="card" aria-label="Tenants">
      <table className="table table-stack">
        <thead>
          <tr>
            <th scope="col">Tenant</th>
            <th scope="col">Status</th>
            <th scope="col">Contacts</th>
            <th scope="col" className="number">
              Subscriptions
            </th>
            <th scope="col" className="number">
              Open deliveries
            </th>
            <th scope="col" className="number">
              Stored
            </th>
          </tr>
        </thead>
        <tbody>
          {tenants.map(({ id, name, status, contact_email: email, contacts, usage, quotas }) => (
            <tr key={id}>
              <td>
                <span>
                  <Link href={`/tenants/${encodeURIComponent(id)}`}>{name}</Link>
                  {name !== id && <code className="muted small"> {id}</code>}
                </span>
              </td>
              <td data-label="Status">
                <span>
                  <Badge state={status} />
                </span>
              </td>
              <td data-label="Contacts">{describeContacts(email, contacts.length)}</td>
              <td className="number" data-label="Subscriptions">
                {withLimit(usage.subscriptions, quotas.subscriptions, formatCount)}
              </td>
              <td className="number" data-label="Open deliveries">
                {withLimit(usage.open_deliveries, quotas.open_deliveries, formatCount)}
              </td>
              <td className="number" data-label="Stored">
                {withLimit(usage.stored_bytes, quotas.stored_bytes, formatBytes)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function describeContacts(email: string | null, more: number): string {
  if (email === null) return more === 0 ? "–" : String(more);
  return more === 0 ? email : `${email} and ${more} more`;
}

function withLimit(used: number, limit: number | null, format: (count: number) => string): string {
  return limit === null ? format(used) : `${format(used)} / ${format(limit)}`;
}

function CreateTenantDialog({ onClose }: { onClose: () => void }) {
  const [, navigate] = useLocation();
  const [id, setId] = useState("");
  const [name, setName] = useState("");
  const create = useAct({
    run: (input: TenantInput) => sendJson<Tenant>("POST", "/api/v1/tenants", input),
    changes: ["tenants"],
    says: ({ name: made }) => `${made} is created.`,
    onDone(tenant) {
      onClose();
      navigate(`/tenants/${encodeURIComponent(tenant.id)}`);
    },
  });
  return (
    <FormDialog
      title="Create tenant"
      act="Create"
      onClose={onClose}
      onSubmit={() => create.mutate({ id: id.trim(), ...(name.trim() !== "" && { name: name.trim() }) })}
      isBusy={create.isPending}
      canSubmit={id.trim() !== ""}
    >
      <TextField
        label="Id"
        value={id}
        onChange={setId}
        placeholder="acme"
        hint="Small letters, digits, _ and -. It cannot be changed later."
      />
      <TextField label="Name" value={name} onChange={setName} placeholder="Acme" hint="For people. Optional." />
    </FormDialog>
  );
}
