import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import type { Tenant } from "../../api/types.ts";
import { ListPage } from "../../layout/list-page.tsx";
import { useView } from "../../layout/use-view.ts";
import { apiCommand } from "../../ui/api-command.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { SearchFilter } from "../../ui/filters.tsx";
import { formatBytes, formatCount } from "../../ui/numbers.ts";
import { hasText } from "../../ui/text-search.ts";
import { ChoiceFilter } from "../../ui/view-filters.tsx";
import { CreateTenantDialog } from "./create-tenant-dialog.tsx";
import { tenantsQuery } from "./tenant-queries.ts";

const FILTERS = ["search", "status"] as const;

export function TenantsPage() {
  const view = useView();
  const query = useInfiniteQuery(tenantsQuery());
  const [isCreating, setCreating] = useState(false);
  const status = view.get("status");
  return (
    <>
      <ListPage
        title="Tenants"
        noun="tenant"
        actions={
          <Button kind="primary" onClick={() => setCreating(true)}>
            Create tenant
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
              options={{ active: "active", inactive: "inactive" }}
            />
          </>
        }
        query={query}
        isWanted={(tenant) =>
          (status === undefined || tenant.status === status) && hasText([tenant.id, tenant.name], view.get("search"))
        }
        empty={
          <EmptyState
            title="There are no tenants yet"
            command={apiCommand("/api/v1/tenants", { id: "acme", name: "Acme" })}
          >
            Create a tenant for each customer or team whose webhooks must stay apart.
          </EmptyState>
        }
      >
        {(tenants) => <TenantTable tenants={tenants} />}
      </ListPage>
      {isCreating && <CreateTenantDialog onClose={() => setCreating(false)} />}
    </>
  );
}

function TenantTable({ tenants }: { tenants: readonly Tenant[] }) {
  return (
    <section className="card" aria-label="Tenants">
      <DataTable
        rows={tenants}
        keyOf={({ id }) => id}
        columns={[
          {
            title: "Tenant",
            cell: ({ id, name }) => (
              <>
                <Link href={`/tenants/${encodeURIComponent(id)}`}>{name}</Link>
                {name !== id && <code className="muted small"> {id}</code>}
              </>
            ),
          },
          { title: "Status", cell: ({ status }) => <Badge state={status} /> },
          {
            title: "Contacts",
            cell: ({ contact_email: email, contacts }) => describeContacts(email, contacts.length),
          },
          {
            title: "Subscriptions",
            isNumber: true,
            cell: ({ usage, quotas }) => withLimit(usage.subscriptions, quotas.subscriptions, formatCount),
          },
          {
            title: "Open deliveries",
            isNumber: true,
            cell: ({ usage, quotas }) => withLimit(usage.open_deliveries, quotas.open_deliveries, formatCount),
          },
          {
            title: "Stored",
            isNumber: true,
            cell: ({ usage, quotas }) => withLimit(usage.stored_bytes, quotas.stored_bytes, formatBytes),
          },
        ]}
      />
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
