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
      action="Continue"
      onClose={onClose}
      onSubmit={() => navigate(hrefOf(endpoint.trim(), format, "edit"))}
      isBusy={false}
      canSubmit={endpoint.trim().length <= 64 && /^[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$/.test(endpoint.trim())}
    >
      <TextField
        label="Endpoint"
        value={endpoint}
        onChange={setEndpoint}
        placeholder="orders"
        hint="The last part of /webhook/orders, or default for all that have none. Letters, digits, _, - and dots between them."
      />
      <ChoiceField label="Format" options={FORMAT_WORDS} value={format} onChange={setFormat} />
    </FormDialog>
  );
}
