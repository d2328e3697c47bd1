import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link } from "wouter";
import { allSubscriptionsQuery } from "../../api/queries.ts";
import { ListPage } from "../../layout/list-page.tsx";
import { useView } from "../../layout/use-view.ts";
import { useCanChange, useSession } from "../../session/session.tsx";
import { apiCommand } from "../../ui/api-command.ts";
import { EmptyState } from "../../ui/empty-state.tsx";
import { SearchFilter, TenantFilter } from "../../ui/filters.tsx";
import { ChoiceFilter, TextFilter } from "../../ui/view-filters.tsx";
import { CONDITIONS } from "../../ui/conditions.ts";
import { labelOfKind } from "./kind-labels.ts";
import { hrefOfList } from "./paths.ts";
import { fits } from "./subscription-filters.ts";
import { SubscriptionTable } from "./subscription-table.tsx";

const FILTERS = ["text", "condition", "kind", "label", "tenant_id"] as const;

export function SubscriptionsPage() {
  const view = useView();
  const session = useSession();
  const canChange = useCanChange();
  const served = { tenant_id: view.get("tenant_id"), label: view.get("label") };
  const query = useInfiniteQuery(allSubscriptionsQuery(served));
  const all = useMemo(() => query.data?.pages.flatMap(({ data }) => data) ?? [], [query.data]);
  const kinds = useMemo(() => Object.fromEntries(all.map(({ kind }) => [kind, labelOfKind(kind)])), [all]);
  const wanted = { text: view.get("text"), condition: view.get("condition"), kind: view.get("kind") };

  return (
    <ListPage
      title="Subscriptions"
      noun="subscription"
      actions={
        canChange && (
          <Link className="button button-primary" href={hrefOfList(view.get("tenant_id"), "/new")}>
            Create subscription
          </Link>
        )
      }
      view={view}
      filterNames={FILTERS}
      filters={
        <>
          <SearchFilter view={view} name="text" hint="Name, URL, pattern" isWide />
          <ChoiceFilter view={view} name="condition" label="Health" options={CONDITIONS} />
          <ChoiceFilter view={view} name="kind" label="Kind" options={kinds} />
          <TextFilter view={view} name="label" label="Label" placeholder="team=billing" />
          <TenantFilter view={view} />
        </>
      }
      query={query}
      isWanted={(one) => fits(one, wanted)}
      empty={<NoSubscriptions />}
    >
      {(shown) => <SubscriptionTable subscriptions={shown} hasTenants={session.tenant_id === null} />}
    </ListPage>
  );
}

function NoSubscriptions() {
  const first = { name: "ERP", url: "https://erp.example.com/hooks", events: ["order.*"] };
  return (
    <EmptyState
      title="There are no subscriptions yet"
      command={apiCommand("/api/v1/subscriptions", first)}
      forPartners="A subscription says which events are sent to which address of yours."
    >
      A subscription says which events go where. Create one here, or from a terminal.
    </EmptyState>
  );
}
