import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { sendJson } from "../../api/client.ts";
import type { Tenant, TenantErasure } from "../../api/types.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Failure } from "../../ui/failure.tsx";
import { TextField } from "../../ui/field.tsx";
import { formatBytes, formatCount } from "../../ui/numbers.ts";
import { Skeleton } from "../../ui/skeleton.tsx";
import { useAction } from "../../ui/use-action.ts";
import { ownedQuery, pathOfTenant } from "./tenant-queries.ts";

/** Shows what will be gone, and asks for the tenant's id: nothing brings it back. */
export function EraseTenantDialog({ tenant, onClose }: { tenant: Tenant; onClose: () => void }) {
  const { id } = tenant;
  const [typed, setTyped] = useState("");
  const erase = useAction({
    run: () => sendJson<TenantErasure>("POST", `${pathOfTenant(id)}/erase`, { confirm: typed }),
    changes: ["tenants", "erasures"],
    says: `The data of ${id} are being erased.`,
    onDone: onClose,
  });
  return (
    <Dialog isOpen onClose={onClose} title={`Erase ${tenant.name}?`}>
      <form
        className="dialog-form"
        onSubmit={(event) => {
          event.preventDefault();
          erase.mutate(undefined);
        }}
      >
        <p>All data of this tenant are deleted for good, and it accepts no events from now on:</p>
        <Plan tenant={tenant} />
        <TextField
          label="Tenant id"
          value={typed}
          onChange={setTyped}
          hint={
            <>
              Type <code>{id}</code> to confirm.
            </>
          }
        />
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="danger" type="submit" disabled={typed !== id} isBusy={erase.isPending}>
            Erase
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Plan({ tenant: { id, usage } }: { tenant: Tenant }) {
  const { data, error, refetch } = useQuery(ownedQuery(id));
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Skeleton lines={3} />;
  const { sources, keys, isWhole } = data;
  const atLeast = isWhole ? "" : "at least ";
  return (
    <ul className="plain-list" aria-label="What is erased">
      <li>{formatBytes(usage.stored_bytes)} of stored events, with their deliveries and attempts</li>
      <li>{count(usage.open_deliveries, "delivery", "deliveries")} still to be sent</li>
      <li>
        {count(usage.subscriptions, "subscription")}, {atLeast}
        {count(sources, "source")} and {count(keys, "key")}; portal links end too
      </li>
      <li>its requests, validations, quotas and contacts, and the content of its entries in the audit log</li>
    </ul>
  );
}

function count(many: number, one: string, more = `${one}s`): string {
  return `${formatCount(many)} ${many === 1 ? one : more}`;
}
