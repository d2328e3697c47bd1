import type { Alert } from "../../api/types.ts";
import { formatCount } from "../../ui/numbers.ts";
import { formatSpan } from "../../ui/time.tsx";

/** A measured value with its unit. */
export function formatValue(value: number, unit: Alert["unit"]): string {
  if (unit === "percent") return `${round(value)} %`;
  if (unit === "seconds") return value === 0 ? "0 s" : formatSpan(Math.max(1000, value * 1000));
  if (unit === "days") return `${round(value)} d`;
  if (unit === "MiB") return `${formatCount(Math.round(value))} MiB`;
  return formatCount(value);
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** `dead_letters` as people say it. */
export function nameRule(rule: string): string {
  const words = rule.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The page of what a cause names, where it has one. */
export function hrefOfCause(cause: string): string | undefined {
  const [kind, id] = cause.split(" ");
  if (id === undefined) return undefined;
  if (kind === "subscription") return `/subscriptions/${encodeURIComponent(id)}`;
  if (kind === "target") return `/targets/${encodeURIComponent(id)}`;
  return undefined;
}
