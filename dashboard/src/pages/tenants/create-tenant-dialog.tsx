import { useState } from "react";
import { useLocation } from "wouter";
import { sendJson } from "../../api/client.ts";
import type { Tenant, TenantInput } from "../../api/types.ts";
import { TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { useAction } from "../../ui/use-action.ts";

export function CreateTenantDialog({ onClose }: { onClose: () => void }) {
  const [, navigate] = useLocation();
  const [id, setId] = useState("");
  const [name, setName] = useState("");
  const create = useAction({
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
      action="Create"
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
