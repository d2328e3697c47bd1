import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useParams } from "wouter";
import { requestsQuery } from "../../api/request-queries.ts";
import { sourceKindsQuery, sourceQuery } from "../../api/source-queries.ts";
import type { Source } from "../../api/types.ts";
import { PageHead } from "../../layout/shell.tsx";
import { useCanChange, useSession } from "../../session/session.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { KeyValues } from "../../ui/key-values.tsx";
import { formatBytes } from "../../ui/numbers.ts";
import { Skeleton } from "../../ui/skeleton.tsx";
import { RelativeTime } from "../../ui/time.tsx";
import { RequestItems } from "../requests/request-items.tsx";
import { DeleteSourceDialog } from "./delete-source-dialog.tsx";
import { ParkedCard } from "./parked-card.tsx";
import { labelOfKind } from "./presets.ts";
import { QueueCard } from "./queue-card.tsx";
import { SecretsCard } from "./secrets-card.tsx";
import { SmartsheetCard } from "./smartsheet-card.tsx";
import { StatusActions } from "./status-actions.tsx";
import { UrlCard } from "./url-card.tsx";

const SHOWN_REQUESTS = 10;

export function SourcePage() {
  const { name } = useParams<{ name: string }>();
  const { data, error, refetch } = useQuery(sourceQuery(name));
  const { data: kinds } = useQuery(sourceKindsQuery);
  const isOperator = useSession().tenant_id === null;
  const canChange = useCanChange();
  const [isDeleting, setDeleting] = useState(false);
  if (error !== null) {
    return (
      <>
        <PageHead title={name} />
        <Failure error={error} onRetry={() => void refetch()} />
        <RequestLog name={name} />
      </>
    );
  }
  if (data === undefined || kinds === undefined) return <Skeleton lines={10} />;
  const source = data.thing;
  const kind = kinds.data.find((one) => one.name === source.kind);
  const isPulled = kind?.pulled === true;
  // A queue may have messages of any tenant.
  const isOurs = canChange && (isOperator || !isPulled);
  return (
    <>
      <PageHead title={source.name}>
        {isOurs && <StatusActions source={source} />}
        {isOurs && source.managed_by !== "config" && (
          <>
            <Button kind="quiet" onClick={() => setDeleting(true)}>
              Delete
            </Button>
            <Link href={`/sources/${encodeURIComponent(name)}/edit`} className="button button-plain">
              Edit
            </Link>
          </>
        )}
      </PageHead>
      <Facts source={source} isPulled={isPulled} />
      {isPulled ? isOperator && <QueueCard source={source} /> : <UrlCard source={source} />}
      {isPulled && isOperator && canChange && <ParkedCard source={source} />}
      {!isPulled && <SecretsCard source={source} needsSecret={kind?.needs_secret === true} />}
      {source.kind === "smartsheet" && isOperator && canChange && <SmartsheetCard source={source} />}
      {!isPulled && <RequestLog name={name} />}
      {isDeleting && <DeleteSourceDialog source={source} isPulled={isPulled} onClose={() => setDeleting(false)} />}
    </>
  );
}

function Facts({ source, isPulled }: { source: Source; isPulled: boolean }) {
  const { last_request_at: last, only } = source;
  return (
    <section className="card facts" aria-label="Facts">
      <KeyValues
        rows={[
          ["Status", <Badge key="s" state={source.status} />],
          ["Kind", labelOfKind(source.kind)],
          ["Last request", last === null ? "none yet" : <RelativeTime key="l" at={last} />],
          ["Tenant", source.tenant_id],
          ["Event type", source.event_type ?? "as its kind says"],
          ["Lets through", only?.join(", ")],
          ["Methods", !isPulled && source.methods.join(", ")],
          ["Content types", source.content_types?.join(", ")],
          ["Addresses", source.allowed_ips?.join(", ")],
          ["Token header", source.auth?.header],
          ["Largest body", formatBytes(source.max_bytes)],
          ["Declared", source.managed_by === "config" ? "in posthorn.yaml" : "by the API"],
          [
            "Events",
            <Link key="e" href={`/events?source=${encodeURIComponent(source.name)}`}>
              all from this source
            </Link>,
          ],
        ]}
      />
    </section>
  );
}

function RequestLog({ name }: { name: string }) {
  const query = useInfiniteQuery(requestsQuery({ source: name }, SHOWN_REQUESTS));
  const requests = query.data?.pages[0]?.data ?? [];
  return (
    <section className="card" aria-labelledby="log-head">
      <div className="card-head">
        <h2 id="log-head">Rejected and ignored requests</h2>
        {requests.length > 0 && <Link href={`/requests?source=${encodeURIComponent(name)}`}>All of them</Link>}
      </div>
      {query.error !== null && <Failure error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Skeleton />}
      {query.isSuccess && requests.length === 0 && <p className="muted">None.</p>}
      {requests.length > 0 && <RequestItems requests={requests} />}
    </section>
  );
}
