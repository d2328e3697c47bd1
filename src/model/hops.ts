import { PosthornError } from "./errors.ts";

/**
 * How many gateways an event has passed. Each delivery carries the number, and each gateway that accepts it adds one.
 * So every loop ends, even if it leads through other systems.
 */
export const HOPS_HEADER = "X-Posthorn-Hops";
/** Node lowercases header names. */
const INCOMING = "x-posthorn-hops";

const MAX_HOPS = 8;
/** Stored as the first of the event's details, so that it is found without parsing the rest, which may be long. */
const DETAIL = '{"hops":';

/** The number in a request. If there are several, the highest counts, because any of them may be the right one. */
export function readHops(headers: Readonly<Record<string, string | readonly string[] | undefined>>): number {
  const given = headers[INCOMING];
  if (given === undefined) return 0;
  let hops = 0;
  for (const text of String(given).split(",")) {
    const value = /^[ \t]*(\d+)[ \t]*$/.exec(text)?.[1];
    // Numbers may have any length: it only matters whether they are too high.
    if (value !== undefined) hops = Math.max(hops, Math.min(Number(value), MAX_HOPS + 1));
  }
  return hops;
}

/** The error for an event that has passed too many gateways. */
export function findLoop(hops: number): PosthornError | undefined {
  if (hops <= MAX_HOPS) return undefined;
  return new PosthornError(
    "loop",
    `${HOPS_HEADER} says that this event has passed more than ${MAX_HOPS} gateways, so it is in a loop. Change the ` +
      "subscription that delivers it back to where it came from.",
  );
}

/** `trace`: the text that `traceDetail` returns. */
export function hopsDetail(hops: number, trace?: string): string | undefined {
  if (hops === 0) return trace === undefined ? undefined : `{${trace}}`;
  return `${DETAIL}${hops}${trace === undefined ? "" : `,${trace}`}}`;
}

/** Whether the details contain only the hops. Needs only their first ten characters. */
export function isHopsOnly(startOfDetails: string): boolean {
  return startOfDetails.startsWith(DETAIL) && startOfDetails.endsWith("}");
}

/** Reads what `hopsDetail` wrote, whatever was added after it. */
export function hopsOf(details: string | undefined): number {
  return details?.startsWith(DETAIL) === true ? Number.parseInt(details.slice(DETAIL.length), 10) : 0;
}
