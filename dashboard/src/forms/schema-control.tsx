import type { Described } from "./described.ts";
import type { Field, Shape } from "./fields.ts";
import { ListControl } from "./list-control.tsx";
import { MapControl } from "./map-control.tsx";
import { JsonControl, NumberControl } from "./parsed-control.tsx";
import { TenantControl } from "./tenant-control.tsx";

interface ControlProps {
  shape: Shape;
  field: Field;
  value: unknown;
  onChange: (value: unknown) => void;
  described: Described;
}

/** What a value of this shape is entered with. */
export function Control({ shape, field, value, onChange, described }: ControlProps) {
  const { schema, isRequired } = field;
  const placeholder = placeholderOf(schema.default ?? (isRequired ? undefined : null), schema.examples?.[0]);
  switch (shape.kind) {
    case "choice":
      return (
        <select
          {...described}
          className="input"
          value={String(value ?? schema.default ?? "")}
          onChange={({ target }) => onChange(target.value === "" ? undefined : target.value)}
        >
          {(schema.default ?? null) === null && <option value="">{isRequired ? "Choose …" : "not set"}</option>}
          {shape.options.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </select>
      );
    case "number":
      return <NumberControl described={described} value={value} onChange={onChange} placeholder={placeholder} />;
    case "list":
      return <ListControl described={described} value={value} onChange={onChange} isNumeric={shape.isNumeric} />;
    case "map":
      return <MapControl described={described} value={value} onChange={onChange} isText={shape.isText} />;
    case "text":
      if (field.name === "tenant_id") {
        return (
          <TenantControl
            described={described}
            value={String(value ?? "")}
            onChange={(id) => onChange(id === "" ? undefined : id)}
            placeholder={placeholder}
          />
        );
      }
      return shape.isLong ? (
        <textarea
          {...described}
          className="input mono"
          rows={5}
          spellCheck={false}
          placeholder={placeholder}
          value={String(value ?? "")}
          onChange={({ target }) => onChange(target.value === "" ? undefined : target.value)}
        />
      ) : (
        <input
          {...described}
          className="input"
          autoComplete="off"
          spellCheck={false}
          placeholder={placeholder}
          value={String(value ?? "")}
          onChange={({ target }) => onChange(target.value === "" ? undefined : target.value)}
        />
      );
    default:
      return <JsonControl described={described} value={value} onChange={onChange} />;
  }
}

function placeholderOf(preset: unknown, example: unknown): string | undefined {
  if (preset !== undefined && preset !== null && preset !== "") return String(preset);
  return typeof example === "string" || typeof example === "number" ? `${example}` : undefined;
}
