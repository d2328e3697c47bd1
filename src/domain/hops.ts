import { PosthornError } from "./errors.ts";

/**
 * How many gateways an event has passed. Each delivery says it, and each gateway that takes one in counts on: so a loop
 * ends, however long it is and whoever stands between.
 */
export const HOPS_HEADER = "X-Posthorn-Hops";
/** As Node tells it. */
const INCOMING = "x-posthorn-hops";

const MAX_HOPS = 8;
/** Kept with the event, first of its details: so it is found without reading the rest, which may be long. */
const DETAIL = '{"hops":';

/** What a request says; the highest where it says several, because each of them may be the one that was counted on. */
export function readHops(headers: Readonly<Record<string, string | readonly string[] | undefined>>): number {
  const given = headers[INCOMING];
  if (given === undefined) return 0;
  let hops = 0;
  for (const text of String(given).split(",")) {
    const value = /^[ \t]*(\d+)[ \t]*$/.exec(text)?.[1];
    // Numbers of any length: only whether they are too high matters.
    if (value !== undefined) hops = Math.max(hops, Math.min(Number(value), MAX_HOPS + 1));
  }
  return hops;
}

/** Why it is not taken in. */
export function findLoop(hops: number): PosthornError | undefined {
  if (hops <= MAX_HOPS) return undefined;
  return new PosthornError(
    "loop",
    `${HOPS_HEADER} says that this has passed more than ${MAX_HOPS} gateways: it goes round in a loop. Change the ` +
      "subscription that delivers it back to where it came from.",
  );
}

/** `trace`: as `traceDetail` writes it. */
export function hopsDetail(hops: number, trace?: string): string | undefined {
  if (hops === 0) return trace === undefined ? undefined : `{${trace}}`;
  return `${DETAIL}${hops}${trace === undefined ? "" : `,${trace}`}}`;
}

/** Whether details that begin like this, with ten characters at most, say nothing else. */
export function isHopsOnly(startOfDetails: string): boolean {
  return startOfDetails.startsWith(DETAIL) && startOfDetails.endsWith("}");
}

/** Out of what `hopsDetail` wrote, whatever was added to it. */
export function hopsOf(details: string | undefined): number {
  return details?.startsWith(DETAIL) === true ? Number.parseInt(details.slice(DETAIL.length), 10) : 0;
}
