import { readHops } from "../../model/hops.ts";
import type { PulledMessage } from "../../sources/source-kind.ts";

/** The properties that a gateway adds to a message, if the broker has properties. */
export interface SentBy {
  origin: string | undefined;
  /** The id of the event at that gateway. */
  eventId: string | undefined;
  generation: number;
  hops: number;
}

const STORE_ID = /^str_[0-9a-f]{32}$/;
const EVENT_ID = /^[A-Za-z0-9_:-]{1,128}$/;
const MAX_GENERATION = 1_000_000;
const MAX_HOPS = 1000;

/** Without the id of a store they come from another program and mean something else. */
export function readSentBy({ headers }: Pick<PulledMessage, "headers">): SentBy {
  const { origin = "", event_id: eventId = "" } = headers;
  const hops = readHops(headers);
  if (!STORE_ID.test(origin)) return { origin: undefined, eventId: undefined, generation: 1, hops };
  return {
    origin,
    eventId: EVENT_ID.test(eventId) ? eventId : undefined,
    generation: readCount(headers["generation"], MAX_GENERATION) ?? 1,
    hops: Math.max(hops, readCount(headers["hops"], MAX_HOPS) ?? 0),
  };
}

function readCount(text: string | undefined, max: number): number | undefined {
  return text !== undefined && /^\d{1,12}$/.test(text) ? Math.min(max, Math.max(1, Number(text))) : undefined;
}
