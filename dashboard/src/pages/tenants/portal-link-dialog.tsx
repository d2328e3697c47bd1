import { useState } from "react";
import type { Appearance } from "../../../../src/model/portal-theme.ts";
import { sendJson } from "../../api/client.ts";
import type { PortalLink, Tenant } from "../../api/types.ts";
import { ChoiceField, TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { OnceDialog } from "../../ui/once.tsx";
import { AbsoluteTime } from "../../ui/time.tsx";
import { useAction } from "../../ui/use-action.ts";
import { pathOfTenant } from "./tenant-queries.ts";

const ACCESS: Readonly<Record<PortalLink["access"], string>> = {
  manage: "see and change subscriptions, test, replay",
  read: "only see",
};
const LOOKS: Readonly<Record<Appearance | "", string>> = {
  "": "as configured",
  system: "as its visitor chooses",
  light: "light",
  dark: "dark",
};
const SPANS = { "3600": "1 hour", "28800": "8 hours", "86400": "1 day", "604800": "7 days" };

export function PortalLinkDialog({ tenant, onClose }: { tenant: Tenant; onClose: () => void }) {
  const [access, setAccess] = useState<PortalLink["access"]>("manage");
  const [span, setSpan] = useState<keyof typeof SPANS>("3600");
  const [name, setName] = useState("");
  const [accent, setAccent] = useState("");
  const [appearance, setAppearance] = useState<Appearance | "">("");
  const create = useAction({
    run: () =>
      sendJson<PortalLink>("POST", `${pathOfTenant(tenant.id)}/portal-link`, {
        access,
        expires_in_s: Number(span),
        theme: Object.fromEntries(
          Object.entries({ name: name.trim(), accent: accent.trim(), appearance }).filter(([, value]) => value !== ""),
        ),
      }),
    changes: [],
  });
  if (create.data !== undefined) {
    return (
      <OnceDialog title={`Portal link for ${tenant.name}`} text={create.data.url} onClose={onClose}>
        Copy it now; it is not shown again. Anybody who has it sees this tenant until{" "}
        <AbsoluteTime at={create.data.expires_at} />.
      </OnceDialog>
    );
  }
  return (
    <FormDialog
      title={`Portal link for ${tenant.name}`}
      action="Create link"
      onClose={onClose}
      onSubmit={() => create.mutate()}
      isBusy={create.isPending}
    >
      <p>The link opens a page with the events, subscriptions and deliveries of this tenant, and of no other.</p>
      <ChoiceField label="Its holder can" options={ACCESS} value={access} onChange={setAccess} />
      <ChoiceField label="Valid for" options={SPANS} value={span} onChange={setSpan} />
      <TextField label="Heading" value={name} onChange={setName} placeholder="as configured" />
      <TextField
        label="Colour"
        value={accent}
        onChange={setAccent}
        placeholder="#0a7d4f"
        pattern="#[0-9a-fA-F]{6}"
        hint="Of buttons and links, as #rrggbb. Changed only where it would be hard to read."
      />
      <ChoiceField label="Appearance" options={LOOKS} value={appearance} onChange={setAppearance} />
    </FormDialog>
  );
}
