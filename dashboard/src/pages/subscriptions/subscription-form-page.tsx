import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useParams } from "wouter";
import { subscriptionQuery } from "../../api/queries.ts";
import { schemasQuery } from "../../forms/schemas-query.ts";
import { PageHead } from "../../layout/shell.tsx";
import { useView } from "../../layout/use-view.ts";
import { AdminOnly } from "../../session/admin-only.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { SubscriptionForm } from "./subscription-form.tsx";

export function NewSubscriptionPage() {
  const schemas = useQuery(schemasQuery);
  const tenantId = useView().get("tenant_id");
  return (
    <>
      <PageHead title="Create subscription" />
      {schemas.error !== null && <Failure error={schemas.error} onRetry={() => void schemas.refetch()} />}
      {schemas.isPending && <Skeleton lines={10} />}
      {schemas.data !== undefined && (
        <AdminOnly>
          <SubscriptionForm schemas={schemas.data} opened={undefined} tenantId={tenantId} />
        </AdminOnly>
      )}
    </>
  );
}

export function EditSubscriptionPage() {
  const { id } = useParams<{ id: string }>();
  const schemas = useQuery(schemasQuery);
  const subscription = useQuery(subscriptionQuery(id));
  // What comes later does not take away what somebody has typed: the form keeps the version that it was opened with.
  const [opened, setOpened] = useState<typeof subscription.data>();
  if (opened === undefined && subscription.data !== undefined && !subscription.isFetching) setOpened(subscription.data);
  const error = schemas.error ?? (opened === undefined ? subscription.error : null);
  return (
    <>
      <PageHead title={opened === undefined ? "Subscription" : `Edit ${opened.thing.name}`} />
      {error !== null && <Failure error={error} />}
      {schemas.data === undefined || opened === undefined ? (
        error === null && <Skeleton lines={10} />
      ) : (
        <AdminOnly>
          <SubscriptionForm schemas={schemas.data} opened={opened} />
        </AdminOnly>
      )}
    </>
  );
}
