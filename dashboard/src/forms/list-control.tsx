import { useText } from "./parsed-control.tsx";
import type { Described } from "./described.ts";

interface ListControlProps {
  described: Described;
  value: unknown;
  onChange: (value: unknown) => void;
  isNumeric: boolean;
}

/** One on each line. */
export function ListControl({ described, value, onChange, isNumeric }: ListControlProps) {
  const [text, setText] = useText(value, write, (typed) => read(typed, isNumeric));
  return (
    <textarea
      {...described}
      className="input mono"
      rows={Math.min(10, Math.max(2, text.split("\n").length))}
      spellCheck={false}
      placeholder="One on each line"
      value={text}
      onChange={({ target }) => onChange(setText(target.value))}
    />
  );
}

function write(value: unknown): string {
  return value === undefined ? "" : [value].flat().map(String).join("\n");
}

function read(text: string, isNumeric: boolean): unknown {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  if (lines.length === 0) return undefined;
  return isNumeric ? lines.map((line) => (Number.isNaN(Number(line)) ? line : Number(line))) : lines;
}
