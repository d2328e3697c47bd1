import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useParams } from "wouter";
import { DEFAULT_TENANT } from "../../../../src/model/event.ts";
import { sendJson } from "../../api/client.ts";
import type { Tenant } from "../../api/types.ts";
import { PageHead } from "../../layout/shell.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { DeleteDialog } from "../../ui/delete-dialog.tsx";
import { Failure } from "../../ui/failure.tsx";
import { KeyValues } from "../../ui/key-values.tsx";
import { Meter } from "../../ui/meter.tsx";
import { formatBytes, formatCount } from "../../ui/numbers.ts";
import { Skeleton } from "../../ui/skeleton.tsx";
import { RelativeTime } from "../../ui/time.tsx";
import { EditTenantDialog } from "./edit-tenant-dialog.tsx";
import { EraseTenantDialog } from "./erase-tenant-dialog.tsx";
import { ErasureCard } from "./erasure-card.tsx";
import { PortalLinkDialog } from "./portal-link-dialog.tsx";
import { isMissing, pathOfTenant, tenantQuery } from "./tenant-queries.ts";

export function TenantPage() {
  const { id } = useParams<{ id: string }>();
  const { data, error, refetch } = useQuery(tenantQuery(id));
  const [isOpen, setOpen] = useState<"link" | "edit" | "delete" | "erase">();
  const close = () => setOpen(undefined);
  if (error !== null && (data === undefined || isMissing(error))) {
    return (
      <>
        <PageHead title="Tenant" />
        <Failure error={error} onRetry={() => void refetch()} />
        {isMissing(error) && <ErasureCard tenantId={id} />}
      </>
    );
  }
  if (data === undefined) return <Skeleton lines={8} />;
  const { thing: tenant } = data;
  return (
    <>
      <PageHead title={tenant.name}>
        {tenant.managed_by === "config" ? (
          <span className="muted small">Set in posthorn.yaml</span>
        ) : (
          <>
            {id !== DEFAULT_TENANT && (
              <Button kind="quiet" onClick={() => setOpen("erase")}>
                Erase
              </Button>
            )}
            <Button kind="quiet" onClick={() => setOpen("delete")}>
              Delete
            </Button>
            <Button onClick={() => setOpen("edit")}>Edit</Button>
          </>
        )}
        <Button kind="primary" onClick={() => setOpen("link")}>
          Portal link
        </Button>
      </PageHead>
      {tenant.status === "inactive" && <ErasureCard tenantId={id} />}
      <Facts tenant={tenant} />
      <Usage tenant={tenant} />
      <Contacts tenant={tenant} />
      {isOpen === "link" && <PortalLinkDialog tenant={tenant} onClose={close} />}
      {isOpen === "erase" && <EraseTenantDialog tenant={tenant} onClose={close} />}
      {isOpen === "edit" && <EditTenantDialog versioned={data} onClose={close} />}
      {isOpen === "delete" && (
        <DeleteDialog
          name={tenant.name}
          run={() => sendJson("DELETE", pathOfTenant(tenant.id))}
          changes={["tenants"]}
          goTo="/tenants"
          onClose={close}
        >
          <p>
            Only a tenant without subscriptions, sources, keys and open deliveries can be deleted. Its quotas and
            contacts are gone then.
          </p>
        </DeleteDialog>
      )}
    </>
  );
}

function Facts({ tenant }: { tenant: Tenant }) {
  const of = `tenant_id=${encodeURIComponent(tenant.id)}`;
  const { days } = tenant.retention;
  return (
    <section className="card facts" aria-label="Facts">
      <KeyValues
        rows={[
          ["Id", <code key="i">{tenant.id}</code>],
          ["Status", <Badge key="s" state={tenant.status} />],
          ["Created", <RelativeTime key="c" at={tenant.created_at} />],
          ["Changed", <RelativeTime key="u" at={tenant.updated_at} />],
          ["Events kept", days === null ? undefined : `${days} days`],
          [
            "See also",
            <span key="l" className="alert-head">
              <Link href={`/events?${of}`}>Events</Link>
              <Link href={`/subscriptions?${of}`}>Subscriptions</Link>
              <Link href={`/keys?${of}`}>Keys</Link>
              <Link href={`/alerts?${of}`}>Alerts</Link>
              <Link href={`/audit?${of}`}>Audit log</Link>
            </span>,
          ],
        ]}
      />
      {tenant.status === "inactive" && (
        <p className="muted">New events of this tenant are answered with 503, so that their senders keep them.</p>
      )}
    </section>
  );
}

function Usage({ tenant: { usage, quotas } }: { tenant: Tenant }) {
  return (
    <section className="card" aria-labelledby="usage-head">
      <h2 id="usage-head">Use and quotas</h2>
      <div className="meters">
        <Meter label="Subscriptions" used={usage.subscriptions} limit={quotas.subscriptions} format={formatCount} />
        <Meter
          label="Open deliveries"
          used={usage.open_deliveries}
          limit={quotas.open_deliveries}
          format={formatCount}
        />
        <Meter label="Stored" used={usage.stored_bytes} limit={quotas.stored_bytes} format={formatBytes} />
      </div>
      <p className="muted">
        {quotas.events_per_minute === null
          ? "Events per minute: no limit"
          : `At most ${formatCount(quotas.events_per_minute)} events per minute`}
      </p>
    </section>
  );
}

function Contacts({ tenant: { contact_email: email, contacts } }: { tenant: Tenant }) {
  return (
    <section className="card" aria-labelledby="contacts-head">
      <h2 id="contacts-head">Contacts</h2>
      {email === null && contacts.length === 0 && (
        <p className="muted">Nobody is told when something is wrong. Add a contact with Edit.</p>
      )}
      <ul className="rows">
        {email !== null && (
          <li>
            <p>{email}</p>
            <p className="muted small">suspended, failing, rotation</p>
          </li>
        )}
        {contacts.map(({ about, ...ways }) => (
          <li key={Object.values(ways).join()}>
            <p>{Object.values(ways).join()}</p>
            <p className="muted small">{about.join(", ")}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}
