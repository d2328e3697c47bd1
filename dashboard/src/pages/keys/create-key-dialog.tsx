import { useState } from "react";
import { sendJson } from "../../api/client.ts";
import type { KeyInput, KeyWithSecret, Scope } from "../../api/types.ts";
import { checkTenant, TenantControl } from "../../forms/tenant-control.tsx";
import { useSession } from "../../session/session.tsx";
import { ChoiceField, Field, TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { useAction } from "../../ui/use-action.ts";
import { ALL_SCOPES, SCOPE_WORDS } from "./key-scopes.ts";

const DAY_MS = 86_400_000;
const LIVES = { never: "never", "1": "in a day", "30": "in 30 days", "90": "in 90 days", "365": "in a year" };
type Life = keyof typeof LIVES;

export function CreateKeyDialog({ onClose, onMade }: { onClose: () => void; onMade: (key: KeyWithSecret) => void }) {
  const session = useSession();
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly Scope[]>(["read"]);
  const [tenantId, setTenantId] = useState("");
  const [life, setLife] = useState<Life>("never");
  const create = useAction({
    async run(input: KeyInput) {
      await checkTenant(input.tenant_id);
      return sendJson<KeyWithSecret>("POST", "/api/v1/keys", input);
    },
    changes: ["keys"],
    onDone(key) {
      onClose();
      onMade(key);
    },
  });

  function submit(): void {
    const expiresAt = life === "never" ? undefined : new Date(Date.now() + Number(life) * DAY_MS).toISOString();
    create.mutate({
      name: name.trim(),
      scopes: [...scopes],
      ...(tenantId.trim() !== "" && { tenant_id: tenantId.trim() }),
      ...(expiresAt !== undefined && { expires_at: expiresAt }),
    });
  }

  return (
    <FormDialog
      title="Create key"
      action="Create"
      onClose={onClose}
      onSubmit={submit}
      isBusy={create.isPending}
      canSubmit={name.trim() !== "" && scopes.length > 0}
    >
      <TextField label="Name" value={name} onChange={setName} placeholder="billing" hint="What the key is for." />
      <fieldset className="field">
        <legend>Scopes</legend>
        {ALL_SCOPES.map((scope) => (
          <label key={scope} className="check">
            <input
              type="checkbox"
              checked={scopes.includes(scope)}
              onChange={({ target }) =>
                setScopes(ALL_SCOPES.filter((one) => (one === scope ? target.checked : scopes.includes(one))))
              }
            />
            <span>
              {scope} <span className="muted small">{SCOPE_WORDS[scope]}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {session.tenant_id === null && (
        <Field label="Tenant" hint="A key that is bound to a tenant sees that tenant and no other.">
          {(ids) => <TenantControl described={ids} value={tenantId} onChange={setTenantId} placeholder="all tenants" />}
        </Field>
      )}
      <ChoiceField label="Expires" options={LIVES} value={life} onChange={setLife} />
    </FormDialog>
  );
}
