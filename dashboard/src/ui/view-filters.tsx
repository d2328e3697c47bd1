import { useEffect, useEffectEvent, useState } from "react";
import type { View } from "../layout/use-view.ts";

/** Long enough that a word is typed in one go. */
const TYPED_MS = 300;

interface ViewFilterProps {
  view: View;
  /** In the query of the address. */
  name: string;
  label: string;
}

export interface TextFilterProps extends ViewFilterProps {
  id?: string;
  placeholder?: string | undefined;
  type?: string;
  isWide?: boolean;
  isMono?: boolean;
}

/** A text that narrows a list down, kept in the address. */
export function TextFilter(props: TextFilterProps) {
  const { view, name, label, id, placeholder, type = "search", isWide = false, isMono = false } = props;
  const shown = view.get(name) ?? "";
  const [{ text, from }, setTyped] = useState({ text: shown, from: shown });
  // The address may change without the field: by the way back, or by "Clear".
  if (from !== shown) setTyped({ text: shown, from: shown });
  const apply = useEffectEvent(() => view.set({ [name]: text }));
  useEffect(() => {
    if (text === shown) return undefined;
    const timer = setTimeout(() => apply(), TYPED_MS);
    return () => clearTimeout(timer);
  }, [text, shown]);
  return (
    <label className={`filter ${isWide ? "filter-wide" : ""}`}>
      <span className="filter-label">{label}</span>
      <input
        id={id}
        className={`input ${isMono ? "mono" : ""}`}
        type={type}
        value={text}
        placeholder={placeholder}
        onChange={({ target }) => setTyped({ text: target.value, from })}
      />
    </label>
  );
}

/** One of a few, or any. */
export function ChoiceFilter({
  view,
  name,
  label,
  options,
}: ViewFilterProps & { options: Readonly<Record<string, string>> }) {
  const value = view.get(name) ?? "";
  return (
    <label className="filter">
      <span className="filter-label">{label}</span>
      <select className="input" value={value} onChange={({ target }) => view.set({ [name]: target.value })}>
        <option value="">any</option>
        {/* An address may name what is not among them, and the list is narrowed by it all the same. */}
        {value !== "" && !(value in options) && <option value={value}>{value}</option>}
        {Object.entries(options).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
