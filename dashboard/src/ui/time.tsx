import { useSyncExternalStore } from "react";

/** One clock for all times on the page. */
const listeners = new Set<() => void>();
let now = Date.now();
setInterval(() => {
  now = Date.now();
  listeners.forEach((notify) => notify());
}, 1000);

function subscribe(notify: () => void): () => void {
  listeners.add(notify);
  return () => listeners.delete(notify);
}

export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

const UNITS = [
  { name: "d", ms: 86_400_000 },
  { name: "h", ms: 3_600_000 },
  { name: "min", ms: 60_000 },
  { name: "s", ms: 1000 },
] as const;

/** `3 min`; below a second `now`. */
export function formatSpan(ms: number): string {
  const unit = UNITS.find((one) => ms >= one.ms);
  return unit === undefined ? "now" : `${Math.floor(ms / unit.ms)} ${unit.name}`;
}

/** In the language of the page, as the charts have it. */
function formatAbsolute(at: string): string {
  const date = new Date(at);
  const day = date.toLocaleDateString("en-GB", { year: "numeric", month: "short", day: "numeric" });
  return `${day}, ${formatClock(at)}`;
}

export function formatClock(at: string): string {
  const date = new Date(at);
  const two = (part: number) => String(part).padStart(2, "0");
  const ms = String(date.getMilliseconds()).padStart(3, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${ms}`;
}

/** How long ago, with the time itself when one points at it. */
export function RelativeTime({ at }: { at: string }) {
  const span = formatSpan(Math.max(0, useNow() - Date.parse(at)));
  return (
    <time dateTime={at} title={`${formatAbsolute(at)} (${at})`}>
      {span === "now" ? "just now" : `${span} ago`}
    </time>
  );
}

export function AbsoluteTime({ at }: { at: string }) {
  return (
    <time dateTime={at} title={at}>
      {formatAbsolute(at)}
    </time>
  );
}
