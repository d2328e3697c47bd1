import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { sendJson, type Versioned } from "../../api/client.ts";
import type { Tenant, TenantInput } from "../../api/types.ts";
import { ChoiceField, TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { isOutdated, Outdated } from "../../ui/outdated.tsx";
import { useAction } from "../../ui/use-action.ts";
import { ContactFields } from "./contact-fields.tsx";
import { pathOfTenant, tenantQuery } from "./tenant-queries.ts";
import { readDraft, toDraft, type TenantDraft } from "./tenant-draft.ts";

const QUOTAS = {
  subscriptions: "Subscriptions",
  events_per_minute: "Events per minute",
  open_deliveries: "Open deliveries",
  stored_bytes: "Stored bytes",
} as const satisfies Readonly<Record<keyof TenantDraft["quotas"], string>>;

export function EditTenantDialog({ versioned, onClose }: { versioned: Versioned<Tenant>; onClose: () => void }) {
  const client = useQueryClient();
  // What was read when it was opened: what is loaded meanwhile must not be overwritten unseen.
  const [base, setBase] = useState(versioned);
  const [draft, setDraft] = useState(() => toDraft(versioned.thing));
  const { id } = base.thing;
  const set = (changes: Partial<TenantDraft>) => setDraft({ ...draft, ...changes });
  const save = useAction({
    run: (input: Omit<TenantInput, "id">) => sendJson<Tenant>("PATCH", pathOfTenant(id), input, base.etag),
    changes: ["tenants"],
    says: "The tenant is updated.",
    onDone: onClose,
    isFailureShown: isOutdated,
  });

  return (
    <FormDialog
      title={`Edit ${base.thing.name}`}
      action="Save"
      onClose={onClose}
      onSubmit={() => save.mutate(readDraft(draft))}
      isBusy={save.isPending}
      isWide
    >
      {isOutdated(save.error) && (
        <Outdated
          yours={() => readDraft(draft)}
          load={async () => {
            const now = await client.fetchQuery(tenantQuery(id));
            return { ...now, thing: readDraft(toDraft(now.thing)), whole: now };
          }}
          onTakeTheirs={({ whole }) => {
            setBase(whole);
            setDraft(toDraft(whole.thing));
            save.reset();
          }}
          onKeepYours={({ whole }) => {
            setBase(whole);
            save.reset();
          }}
        />
      )}
      <div className="fields">
        <TextField label="Name" value={draft.name} onChange={(name) => set({ name })} isRequired />
        <TextField
          label="Contact e-mail"
          type="email"
          value={draft.contactEmail}
          onChange={(contactEmail) => set({ contactEmail })}
        />
        <ChoiceField
          label="Status"
          options={{ active: "active", inactive: "inactive" }}
          value={draft.status}
          onChange={(status) => set({ status })}
          hint="Inactive: new events get 503."
        />
      </div>
      <fieldset className="field">
        <legend>Quotas</legend>
        <div className="fields">
          {(Object.keys(QUOTAS) as (keyof typeof QUOTAS)[]).map((name) => (
            <TextField
              key={name}
              label={QUOTAS[name]}
              type="number"
              placeholder="no limit"
              value={draft.quotas[name]}
              onChange={(value) => set({ quotas: { ...draft.quotas, [name]: value } })}
            />
          ))}
        </div>
      </fieldset>
      <ContactFields contacts={draft.contacts} onChange={(contacts) => set({ contacts })} />
    </FormDialog>
  );
}
