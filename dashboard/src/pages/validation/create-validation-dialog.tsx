import { useState } from "react";
import { useLocation } from "wouter";
import { ChoiceField, TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { FORMAT_WORDS, hrefOf } from "./formats.ts";
import type { Format } from "./validation-queries.ts";

export function CreateValidationDialog({ onClose }: { onClose: () => void }) {
  const [, navigate] = useLocation();
  const [endpoint, setEndpoint] = useState("");
  const [format, setFormat] = useState<Format>("json");
  return (
    <FormDialog
      title="Create validation"
      act="Continue"
      onClose={onClose}
      onSubmit={() => navigate(hrefOf(endpoint.trim(), format, "edit"))}
      isBusy={false}
      canSubmit={/^[a-z0-9][a-z0-9_-]{0,63}$/.test(endpoint.trim())}
    >
      <TextField
        label="Endpoint"
        value={endpoint}
        onChange={setEndpoint}
        placeholder="orders"
        hint="The last part of /webhook/orders, or default for all that have none. Small letters, digits, _ and -."
      />
      <ChoiceField label="Format" options={FORMAT_WORDS} value={format} onChange={setFormat} />
    </FormDialog>
  );
}
