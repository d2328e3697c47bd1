import { Fragment, type ReactNode } from "react";
import { labelOf } from "../forms/field-name.ts";
import { formatSpan } from "./time.tsx";

/** A setting with its name, as people read both: a span of seconds is a span of time. */
export function toRow(name: string, value: unknown): [label: string, value: ReactNode] {
  const isSpan = name.endsWith("_s") && typeof value === "number" && value >= 60;
  return isSpan
    ? [labelOf(name.slice(0, -2)), <code key={name}>{formatSpan(value * 1000)}</code>]
    : [labelOf(name), <ValueText key={name} value={value} />];
}

/** What was set, as people read it; objects as JSON. */
function ValueText({ value }: { value: unknown }) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string" || typeof value === "number") return <code>{value}</code>;
  if (Array.isArray(value) && value.every((item) => typeof item !== "object")) {
    return value.map((item, index) => (
      <Fragment key={index}>
        {index > 0 && ", "}
        <code>{String(item)}</code>
      </Fragment>
    ));
  }
  return <code className="value-json">{JSON.stringify(value, null, 2)}</code>;
}
