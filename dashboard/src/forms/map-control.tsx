import { useState } from "react";
import { Button } from "../ui/button.tsx";
import type { Described } from "./described.ts";

interface MapControlProps {
  described: Described;
  value: unknown;
  onChange: (value: unknown) => void;
  isText: boolean;
}

type Row = readonly [name: string, value: string];

/** Names with their values, in rows. */
export function MapControl({ described, value, onChange, isText }: MapControlProps) {
  const [rows, setRows] = useState<readonly Row[]>(() => rowsOf(value));

  function change(next: readonly Row[]): void {
    setRows(next);
    const named = next.filter(([name]) => name !== "");
    const members = named.map(([name, text]) => [name, isText ? text : readValue(text)]);
    onChange(named.length === 0 ? undefined : Object.fromEntries(members));
  }

  const replace = (index: number, row: Row) => change(rows.map((one, at) => (at === index ? row : one)));
  return (
    <div className="map-rows">
      {rows.map(([name, text], index) => (
        <div key={index} className="map-row">
          <input
            className="input mono"
            aria-label="Name"
            placeholder="Name"
            value={name}
            onChange={({ target }) => replace(index, [target.value, text])}
          />
          <input
            className="input mono"
            aria-label="Value"
            placeholder="Value"
            value={text}
            onChange={({ target }) => replace(index, [name, target.value])}
          />
          <Button
            kind="quiet"
            aria-label={`Remove ${name}`}
            onClick={() => change(rows.filter((_, at) => at !== index))}
          >
            ✕
          </Button>
        </div>
      ))}
      <Button
        id={described.id}
        aria-describedby={described["aria-describedby"]}
        onClick={() => setRows([...rows, ["", ""]])}
      >
        Add
      </Button>
    </div>
  );
}

function rowsOf(value: unknown): readonly Row[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).map(([name, one]) => [name, typeof one === "string" ? one : JSON.stringify(one)]);
}

function readValue(text: string): unknown {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" ? text : value;
  } catch {
    return text;
  }
}
