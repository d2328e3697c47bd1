import { useState } from "react";
import type { Described } from "./described.ts";

interface ParsedControlProps {
  described: Described;
  value: unknown;
  onChange: (value: unknown) => void;
  placeholder?: string | undefined;
}

/** What is no number is handed on as it is: the gateway says what is wrong with it. */
export function NumberControl({ described, value, onChange, placeholder }: ParsedControlProps) {
  const [text, setText] = useText(value, (one) => (one === undefined ? "" : String(one)), readNumber);
  return (
    <input
      {...described}
      className="input"
      inputMode="decimal"
      autoComplete="off"
      placeholder={placeholder}
      value={text}
      onChange={({ target }) => onChange(setText(target.value))}
    />
  );
}

function readNumber(text: string): unknown {
  if (text.trim() === "") return undefined;
  const number = Number(text);
  return Number.isNaN(number) ? text : number;
}

/** Any JSON; a text that is not JSON yet is passed on unchanged. */
export function JsonControl(props: ParsedControlProps & { ariaLabel?: string }) {
  const { described, value, onChange, placeholder, ariaLabel } = props;
  const [text, setText] = useText(value, writeJson, readJson);
  return (
    <textarea
      {...described}
      aria-label={ariaLabel}
      className="input mono"
      rows={Math.min(12, Math.max(3, text.split("\n").length))}
      spellCheck={false}
      placeholder={placeholder}
      value={text}
      onChange={({ target }) => onChange(setText(target.value))}
    />
  );
}

function writeJson(value: unknown): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function readJson(text: string): unknown {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Keeps what was typed as it was typed, and follows a value that comes from elsewhere. */
export function useText(
  value: unknown,
  write: (value: unknown) => string,
  read: (text: string) => unknown,
): [text: string, setText: (text: string) => unknown] {
  const [text, setText] = useState(() => write(value));
  const isOwn = JSON.stringify(read(text)) === JSON.stringify(value);
  return [
    isOwn ? text : write(value),
    (typed) => {
      setText(typed);
      return read(typed);
    },
  ];
}
