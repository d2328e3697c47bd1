import { useEffect, useState } from "react";
import type { useView } from "../layout/use-view.ts";

type View = ReturnType<typeof useView>;

/** Long enough that a word is typed in one go. */
const TYPED_MS = 300;

interface FieldProps<Name extends string> {
  view: View;
  /** In the address. */
  name: Name;
  label: string;
}

interface TextFilterProps<Name extends string> extends FieldProps<Name> {
  id?: string;
  placeholder?: string;
  type?: string;
  isWide?: boolean;
  isMono?: boolean;
}

export function TextFilter<Name extends string>(props: TextFilterProps<Name>) {
  const { view, name, label, id, placeholder, type = "search", isWide = false, isMono = false } = props;
  const shown = view.get(name) ?? "";
  const [text, setText] = useState(shown);
  // The address may change without the field: by the way back, or by "Clear".
  useEffect(() => setText(shown), [shown]);
  useEffect(() => {
    if (text === shown) return undefined;
    const timer = setTimeout(() => view.set({ [name]: text }), TYPED_MS);
    return () => clearTimeout(timer);
  });
  return (
    <label className={`filter ${isWide ? "filter-wide" : ""}`}>
      <span className="filter-label">{label}</span>
      <input
        id={id}
        className={`input ${isMono ? "mono" : ""}`}
        type={type}
        value={text}
        placeholder={placeholder}
        onChange={({ target }) => setText(target.value)}
      />
    </label>
  );
}

interface ChoiceFilterProps<Name extends string> extends FieldProps<Name> {
  /** By value, what is shown for it. */
  options: Readonly<Record<string, string>>;
}

export function ChoiceFilter<Name extends string>({ view, name, label, options }: ChoiceFilterProps<Name>) {
  return (
    <label className="filter">
      <span className="filter-label">{label}</span>
      <select
        className="input"
        value={view.get(name) ?? ""}
        onChange={({ target }) => view.set({ [name]: target.value })}
      >
        <option value="">any</option>
        {Object.entries(options).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
