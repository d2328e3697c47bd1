import { useState } from "react";
import type { SourceKind } from "../../api/types.ts";
import { withMember, type Draft } from "../../forms/draft.ts";
import { fieldsOf, type Field } from "../../forms/fields.ts";
import type { JsonSchema, Schemas } from "../../forms/json-schema.ts";
import { Members } from "../../forms/schema-field.tsx";
import { findFault } from "../../forms/use-editing.ts";
import { Button } from "../../ui/button.tsx";

/** In their order; all others are under "More settings". */
const FIRST = ["name", "secrets", "event_type", "only", "path_token"];
/** Set by actions of their own, or by the form itself. */
const LEFT_OUT = new Set(["kind", "options", "status"]);

export function sourceFields(schemas: Schemas, schemaName: string): readonly Field[] {
  const fields = fieldsOf(schemas[schemaName] ?? {}, schemas).filter(({ name }) => !LEFT_OUT.has(name));
  return fields.map((field) => (field.name === "path_token" ? asFlag(field) : field));
}

/** It may be a text too, but people want one that is made for them. */
function asFlag(field: Field): Field {
  const description = "The URL ends with a token that is generated for you; requests without it are rejected";
  return { ...field, shape: { kind: "flag" }, schema: { ...field.schema, description } };
}

export function optionFields(kind: SourceKind | undefined, schemas: Schemas): readonly Field[] {
  return fieldsOf(withChoices(kind?.options ?? {}), schemas);
}

/** One of several words, as the gateway checks it, is a choice for people. */
function withChoices(schema: JsonSchema): JsonSchema {
  const { anyOf, properties, ...rest } = schema;
  if (anyOf?.every((branch) => "const" in branch) === true) return { ...rest, enum: anyOf.map((one) => one.const) };
  if (properties === undefined) return schema;
  const members = Object.entries(properties).map(([name, member]) => [name, withChoices(member)] as const);
  return { ...schema, properties: Object.fromEntries(members) };
}

interface SourceFormProps {
  kind: SourceKind | undefined;
  fields: readonly Field[];
  options: readonly Field[];
  draft: Draft;
  onChange: (draft: Draft) => void;
  onSubmit: () => void;
  /** Where to go without a change. */
  onCancel: () => void;
  action: string;
  isBusy: boolean;
  error: Error | null;
}

/** Made of the schemas that the gateway checks with: a new setting is there without a line here. */
export function SourceForm(props: SourceFormProps) {
  const { kind, fields, options, draft, onChange, onSubmit, onCancel, action, isBusy, error } = props;
  const fault = findFault(error);
  const isFor = ({ name }: Field) =>
    (name !== "secrets" || kind?.pulled !== true) && (name !== "manifest" || kind?.has_manifest === true);
  const shown = fields.filter(isFor);
  const first = FIRST.flatMap((name) => shown.filter((field) => field.name === name));
  const rest = shown.filter(({ name }) => !FIRST.includes(name));
  const [isOpen, setOpen] = useState(false);
  const isFaultHidden = fault !== undefined && rest.some(({ name }) => fault.field.startsWith(name));
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      <section className="card form" aria-label="Settings">
        <Members fields={first} path="" draft={draft} onChange={onChange} fault={fault} />
      </section>
      {options.length > 0 && (
        <section className="card form" aria-labelledby="options-head">
          <h2 id="options-head">Settings of this kind</h2>
          <Members
            fields={options}
            path="options"
            draft={(draft["options"] ?? {}) as Draft}
            onChange={(next) => onChange(withMember(draft, "options", next))}
            fault={fault}
          />
        </section>
      )}
      <details
        className="card"
        open={isOpen || isFaultHidden}
        onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
      >
        <summary>More settings</summary>
        <div className="form">
          <Members fields={rest} path="" draft={draft} onChange={onChange} fault={fault} />
        </div>
      </details>
      {error !== null && (
        <p className="error-text" role="alert">
          {error.message}
        </p>
      )}
      <div className="form-actions">
        <Button kind="primary" type="submit" isBusy={isBusy}>
          {action}
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}
