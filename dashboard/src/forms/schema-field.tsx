import { useId } from "react";
import { concerns, withMember, type Draft, type Fault } from "./draft.ts";
import { labelOf } from "./field-name.ts";
import type { Field, Shape } from "./fields.ts";
import { Control } from "./schema-control.tsx";
import { TickedText } from "./ticked-text.tsx";
import { wordsOf } from "./words-of.ts";

export interface SchemaFieldProps {
  field: Field;
  /** With those that it lies in: `destination.auth.token`. */
  path: string;
  value: unknown;
  onChange: (value: unknown) => void;
  fault: Fault | undefined;
}

/** One setting, with a control that fits its schema, its description, and what the gateway said is wrong with it. */
function SchemaField(props: SchemaFieldProps) {
  const { field, path, value, onChange, fault } = props;
  const { shape, schema, name, isRequired } = field;
  const id = useId();
  if (shape.kind === "object") return <ObjectField {...props} shape={shape} />;
  if (shape.kind === "choice-or-object") return <ChoiceOrObjectField {...props} shape={shape} />;
  const isWrong = concerns(fault, path);
  const described = {
    id,
    "aria-describedby": `${id}-about ${id}-fault`,
    "aria-invalid": isWrong,
    "aria-required": isRequired,
  };
  const about = (
    <>
      <span id={`${id}-about`} className="field-about">
        {schema.description !== undefined && <TickedText text={wordsOf(schema.description)} />}
      </span>
      <span id={`${id}-fault`} className="error-text small">
        {isWrong && fault?.message}
      </span>
    </>
  );
  if (shape.kind === "flag") {
    return (
      <div className="field-block" data-field={path}>
        <label className="check">
          <input
            {...described}
            type="checkbox"
            checked={(value ?? schema.default) === true}
            onChange={({ target }) => onChange(target.checked)}
          />
          <span>{labelOf(name)}</span>
        </label>
        {about}
      </div>
    );
  }
  return (
    <div className="field-block" data-field={path}>
      <label htmlFor={id} className="field-label">
        {labelOf(name)}
        {isRequired && <span className="muted"> (required)</span>}
      </label>
      <Control shape={shape} field={field} value={value} onChange={onChange} described={described} />
      {about}
    </div>
  );
}

/** Settings of a setting: they are there once it is switched on. */
function ObjectField(props: SchemaFieldProps & { shape: Extract<Shape, { kind: "object" }> }) {
  const { field, path, value, onChange, fault, shape } = props;
  const isOn = value !== undefined;
  const draft = (typeof value === "object" ? value : {}) as Draft;
  const ofType = shape.byType?.[String(draft["type"])];
  const fields = shape.fields.filter(
    ({ name }) => shape.byType === undefined || name === "type" || ofType?.includes(name),
  );
  return (
    <fieldset className="field-group" data-field={path}>
      <legend>
        <label className="check">
          <input type="checkbox" checked={isOn} onChange={({ target }) => onChange(target.checked ? {} : undefined)} />
          <span>{labelOf(field.name)}</span>
        </label>
      </legend>
      {field.schema.description !== undefined && (
        <p className="field-about">
          <TickedText text={wordsOf(field.schema.description)} />
        </p>
      )}
      {concerns(fault, path) && <p className="error-text small">{fault?.message}</p>}
      {isOn && <Members fields={fields} path={path} draft={draft} onChange={onChange} fault={fault} />}
    </fieldset>
  );
}

const CUSTOM = "custom";

function ChoiceOrObjectField(props: SchemaFieldProps & { shape: Extract<Shape, { kind: "choice-or-object" }> }) {
  const { field, path, value, onChange, fault, shape } = props;
  const isObject = typeof value === "object";
  const choice: Field = { ...field, shape: { kind: "choice", options: [...shape.options, CUSTOM] } };
  return (
    <div className="field-group" data-field={path}>
      <SchemaField
        {...props}
        field={choice}
        value={isObject ? CUSTOM : value}
        onChange={(chosen) => onChange(chosen === CUSTOM ? {} : chosen)}
      />
      {isObject && (
        <Members fields={shape.fields} path={path} draft={value as Draft} onChange={onChange} fault={fault} />
      )}
    </div>
  );
}

interface MembersProps {
  fields: readonly Field[];
  path: string;
  draft: Draft;
  onChange: (value: Draft) => void;
  fault: Fault | undefined;
}

/** A form, or a part of one. */
export function Members({ fields, path, draft, onChange, fault }: MembersProps) {
  return fields.map((field) => (
    <SchemaField
      key={field.name}
      field={field}
      path={path === "" ? field.name : `${path}.${field.name}`}
      value={draft[field.name]}
      onChange={(value) => onChange(withMember(draft, field.name, value))}
      fault={fault}
    />
  ));
}
