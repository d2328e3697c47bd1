import { Fragment } from "react";

/** What was set, as people read it; objects as JSON. */
export function ValueText({ value }: { value: unknown }) {
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
