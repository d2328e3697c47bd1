import { Type, type Static } from "typebox";
import { toWireNames, type InCode } from "./names.ts";
import { fillIn, orNone } from "./shape.ts";

/** How long ended deliveries and their events are kept. Open ones are always kept. */

export const MAX_RETENTION_DAYS = 36_500;

const DAY_MS = 86_400_000;

function days(description: string) {
  return orNone(Type.Number({ minimum: 0, maximum: MAX_RETENTION_DAYS }), { description });
}

/** A tenant's own retention, in days. */
export const RetentionInput = Type.Object(
  {
    days: days("How many days events are kept; 0 for ever; null for the gateway's setting"),
    answers_days: days("The same for the answers of destinations; null for `days`"),
    dead_letters_days: days("The same for events with a dead letter, counted from its death; null for `days`"),
    refused_requests_days: days("The same for requests that created no event; null for `days`"),
  },
  { additionalProperties: false },
);
export type RetentionInput = Static<typeof RetentionInput>;

/** In days, 0 for ever. A missing value follows `days`, or the gateway's setting if `days` is missing too. */
export type RetentionDays = InCode<RetentionInput>;

export function presentRetention(set: RetentionDays): Required<RetentionInput> {
  return fillIn(RetentionInput.properties, toWireNames(set));
}

/** The maximum age of each, in milliseconds; infinite when it is kept for ever. */
export interface Ages {
  events: number;
  answers: number;
  deadLetters: number;
  requests: number;
}

/** `gateway`: the ages that apply unless the tenant sets its own. */
export function agesOf(set: RetentionDays, gateway?: Ages): Ages {
  const own = set.days === undefined ? undefined : ageOf(set.days);
  const pick = (one: number | undefined, kind: keyof Ages) =>
    one === undefined ? (own ?? gateway?.[kind] ?? Number.POSITIVE_INFINITY) : ageOf(one);
  return {
    events: pick(undefined, "events"),
    answers: pick(set.answersDays, "answers"),
    deadLetters: pick(set.deadLettersDays, "deadLetters"),
    requests: pick(set.refusedRequestsDays, "requests"),
  };
}

/** 0 days means for ever. */
export function ageOf(count: number): number {
  return count === 0 ? Number.POSITIVE_INFINITY : count * DAY_MS;
}
