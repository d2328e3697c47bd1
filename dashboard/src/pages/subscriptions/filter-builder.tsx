import { useState } from "react";
import { FILTER_FIELDS } from "../../../../src/model/filter.ts";
import { concerns, type Fault } from "../../forms/draft.ts";
import { JsonControl } from "../../forms/parsed-control.tsx";
import { Button } from "../../ui/button.tsx";
import { Segmented } from "../../ui/segmented.tsx";
import { OPERATORS, toFilter, toRows, type FilterRow } from "./filter-rows.ts";

interface FilterBuilderProps {
  value: unknown;
  onChange: (value: unknown) => void;
  fault: Fault | undefined;
}

const NEW: FilterRow = { path: "data.", operator: "$eq", operand: "" };

/** Conditions in rows, or the same as JSON. Only JSON can have `$or` and `$not`. */
export function FilterBuilder({ value, onChange, fault }: FilterBuilderProps) {
  const known = toRows(value);
  const [form, setForm] = useState<"rows" | "json">(known === undefined ? "json" : "rows");
  const [rows, setRows] = useState<readonly FilterRow[]>(known ?? []);
  const isWrong = concerns(fault, "event_filter");

  function change(next: readonly FilterRow[]): void {
    setRows(next);
    onChange(toFilter(next));
  }

  function choose(chosen: "rows" | "json"): void {
    if (chosen === "rows") setRows(toRows(value) ?? []);
    setForm(chosen);
  }

  return (
    <div className="field-block" data-field="event_filter" role="group" aria-labelledby="filter-label">
      <div className="card-head">
        <span id="filter-label" className="field-label">
          Filter
        </span>
        {(known !== undefined || form === "rows") && (
          <Segmented
            label="Form of the filter"
            options={{ rows: "Conditions", json: "JSON" }}
            value={form}
            onChange={choose}
          />
        )}
      </div>
      <p className="field-about">
        Conditions that must all hold, on {FILTER_FIELDS.join(", ")}. Without any, every event of these types is
        delivered.
      </p>
      {form === "rows" ? (
        <Rows rows={rows} onChange={change} />
      ) : (
        <JsonControl
          described={{
            id: "filter-json",
            "aria-describedby": "filter-fault",
            "aria-invalid": isWrong,
            "aria-required": false,
          }}
          ariaLabel="Filter as JSON"
          value={value}
          onChange={onChange}
          placeholder={'{"data":{"order":{"total":{"$gt":100}}}}'}
        />
      )}
      <p id="filter-fault" className="error-text small">
        {isWrong && fault?.message}
      </p>
    </div>
  );
}

function Rows({ rows, onChange }: { rows: readonly FilterRow[]; onChange: (rows: readonly FilterRow[]) => void }) {
  const replace = (index: number, row: FilterRow) => onChange(rows.map((one, at) => (at === index ? row : one)));
  return (
    <div className="map-rows">
      {rows.map((row, index) => (
        <div key={index} className="condition-row">
          <input
            className="input mono"
            aria-label="Member of the event"
            placeholder="data.order.total"
            spellCheck={false}
            value={row.path}
            onChange={({ target }) => replace(index, { ...row, path: target.value })}
          />
          <select
            className="input"
            aria-label="Operator"
            value={row.operator}
            onChange={({ target }) => replace(index, { ...row, operator: target.value })}
          >
            {Object.entries(OPERATORS).map(([operator, words]) => (
              <option key={operator} value={operator}>
                {words}
              </option>
            ))}
          </select>
          <input
            className="input mono"
            aria-label="Compared with"
            placeholder="100"
            spellCheck={false}
            value={row.operand}
            onChange={({ target }) => replace(index, { ...row, operand: target.value })}
          />
          <Button
            kind="quiet"
            aria-label={`Remove the condition on ${row.path}`}
            onClick={() => onChange(rows.filter((_, at) => at !== index))}
          >
            ✕
          </Button>
        </div>
      ))}
      <Button onClick={() => onChange([...rows, NEW])}>Add a condition</Button>
    </div>
  );
}
