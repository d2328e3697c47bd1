import { Type, type Static } from "typebox";
import { orNull, withDefault } from "./shape.ts";

/** How long what has ended is kept. What is open is kept however old it is. */

export const MAX_RETENTION_DAYS = 36_500;

const DAY_MS = 86_400_000;

function days(description: string) {
  return withDefault(orNull(Type.Number({ minimum: 0, maximum: MAX_RETENTION_DAYS }), { description }), null);
}

/** A tenant's own times, in days. */
export const RetentionInput = Type.Object(
  {
    days: days("Days for which its events are kept; 0 keeps them; null for the gateway's settings"),
    answers_days: days("The same for what destinations answered; null for `days`"),
    dead_letters_days: days("The same for events with a dead letter, from its death; null for `days`"),
    refused_requests_days: days("The same for requests that made no event; null for `days`"),
  },
  { additionalProperties: false },
);
export type RetentionInput = Static<typeof RetentionInput>;

/** In days, 0 for ever; what is left out follows `days`, or where that is left out too, the gateway. */
export interface RetentionDays {
  days?: number | undefined;
  answersDays?: number | undefined;
  deadLettersDays?: number | undefined;
  refusedRequestsDays?: number | undefined;
}

export function readRetention(input: RetentionInput): RetentionDays {
  const given = {
    days: input.days,
    answersDays: input.answers_days,
    deadLettersDays: input.dead_letters_days,
    refusedRequestsDays: input.refused_requests_days,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => typeof value === "number"));
}

export function presentRetention(set: RetentionDays): Required<RetentionInput> {
  return {
    days: set.days ?? null,
    answers_days: set.answersDays ?? null,
    dead_letters_days: set.deadLettersDays ?? null,
    refused_requests_days: set.refusedRequestsDays ?? null,
  };
}

/** How old each may become, in milliseconds; infinite where it is kept. */
export interface Ages {
  events: number;
  answers: number;
  deadLetters: number;
  requests: number;
}

/** `gateway` are the times of those who set none. */
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

/** 0 days are for ever. */
export function ageOf(count: number): number {
  return count === 0 ? Number.POSITIVE_INFINITY : count * DAY_MS;
}
