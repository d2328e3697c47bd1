import { PosthornError } from "./errors.ts";

/** The secrets that a source verifies with. All that are live count; the first is current. */

export interface SourceSecret {
  id: string;
  secret: string;
  /** Wall clock, milliseconds. */
  createdAt: number;
  /** A rotation has replaced it: until then it counts. */
  endsAt: number | undefined;
}

export interface SecretTimes {
  now: number;
  createId: () => string;
}

const MAX_SOURCE_SECRETS = 10;

/** Takes over a list that somebody gave: what was known before keeps its id, and is no longer being replaced. */
export function setSecrets(
  known: readonly SourceSecret[],
  given: readonly string[],
  { now, createId }: SecretTimes,
): readonly SourceSecret[] {
  return given.map((secret) => {
    const before = known.find((one) => one.secret === secret);
    if (before !== undefined) return { ...before, endsAt: undefined };
    return { id: createId(), secret, createdAt: now, endsAt: undefined };
  });
}

/** The new one is current at once; those before it count until the overlap ends. */
export function rotateSecret(
  known: readonly SourceSecret[],
  secret: string,
  overlapMs: number,
  { now, createId }: SecretTimes,
): readonly SourceSecret[] {
  if (known.some((one) => one.secret === secret)) {
    throw new PosthornError("invalid_field", "secret is in use already. Give another, or leave it out.", {
      field: "secret",
    });
  }
  const endsAt = now + overlapMs;
  const kept = overlapMs === 0 ? [] : known.map((one) => ({ ...one, endsAt: Math.min(one.endsAt ?? endsAt, endsAt) }));
  if (kept.length >= MAX_SOURCE_SECRETS) {
    throw new PosthornError("conflict", `There are ${kept.length} secrets, the most. Retire one first.`);
  }
  return [{ id: createId(), secret, createdAt: now, endsAt: undefined }, ...kept];
}

export function retireSecret(known: readonly SourceSecret[], id: string): readonly SourceSecret[] {
  const left = known.filter((one) => one.id !== id);
  if (left.length === known.length) throw new PosthornError("not_found", `There is no secret ${id}.`);
  return left;
}

/** The same list when none has ended. */
export function endSecrets(known: readonly SourceSecret[], now: number): readonly SourceSecret[] {
  const left = known.filter(({ endsAt }) => endsAt === undefined || endsAt > now);
  return left.length === known.length ? known : left;
}
