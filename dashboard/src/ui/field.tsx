import { useId, type ReactNode } from "react";

interface FieldProps {
  label: string;
  hint?: ReactNode;
  /** Gets the ids that tie it to its label and its hint. */
  children: (ids: { id: string; "aria-describedby": string | undefined }) => ReactNode;
}

/** A label, what is filled in, and what helps to do so. */
export function Field({ label, hint, children }: FieldProps) {
  const id = useId();
  const hintId = `${id}-hint`;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, "aria-describedby": hint === undefined ? undefined : hintId })}
      {hint !== undefined && (
        <p id={hintId} className="small muted field-hint">
          {hint}
        </p>
      )}
    </div>
  );
}

interface TextFieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  hint?: ReactNode;
  type?: string;
  placeholder?: string;
  isRequired?: boolean;
  pattern?: string;
}

export function TextField({ label, value, onChange, hint, type = "text", ...rest }: TextFieldProps) {
  const { placeholder, isRequired = false, pattern } = rest;
  return (
    <Field label={label} hint={hint}>
      {(ids) => (
        <input
          {...ids}
          className="input"
          type={type}
          value={value}
          placeholder={placeholder}
          required={isRequired}
          pattern={pattern}
          autoComplete="off"
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Field>
  );
}

export function ChoiceField<Value extends string>(props: {
  label: string;
  options: Readonly<Record<Value, string>>;
  value: Value;
  onChange: (value: Value) => void;
  hint?: ReactNode;
}) {
  const { label, options, value, onChange, hint } = props;
  return (
    <Field label={label} hint={hint}>
      {(ids) => (
        <select {...ids} className="input" value={value} onChange={({ target }) => onChange(target.value as Value)}>
          {(Object.entries(options) as [Value, string][]).map(([one, text]) => (
            <option key={one} value={one}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
