import { PosthornError } from "./errors.ts";

/** The secrets that a source verifies requests with. All live secrets are accepted; the first is current. */

export interface SourceSecret {
  id: string;
  secret: string;
  /** Wall clock, milliseconds. */
  createdAt: number;
  /** Set when a rotation has replaced the secret: it is accepted until then. */
  endsAt: number | undefined;
}

export interface SecretTimes {
  now: number;
  createId: () => string;
}

const MAX_SOURCE_SECRETS = 10;

/** Sets a new list of secrets: known ones keep their id, and are no longer being replaced. */
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

/** The new secret is current at once; the others are accepted until the overlap ends. */
export function rotateSecret(
  known: readonly SourceSecret[],
  secret: string,
  overlapMs: number,
  { now, createId }: SecretTimes,
): readonly SourceSecret[] {
  if (known.some((one) => one.secret === secret)) {
    throw new PosthornError(
      "invalid_field",
      "secret is already in use. Choose another, or leave it out to generate one.",
      {
        field: "secret",
      },
    );
  }
  const endsAt = now + overlapMs;
  const kept = overlapMs === 0 ? [] : known.map((one) => ({ ...one, endsAt: Math.min(one.endsAt ?? endsAt, endsAt) }));
  if (kept.length >= MAX_SOURCE_SECRETS) {
    throw new PosthornError(
      "conflict",
      `There are already ${kept.length} secrets, which is the maximum. Retire one first.`,
    );
  }
  return [{ id: createId(), secret, createdAt: now, endsAt: undefined }, ...kept];
}

export function retireSecret(known: readonly SourceSecret[], id: string): readonly SourceSecret[] {
  const left = known.filter((one) => one.id !== id);
  if (left.length === known.length) throw new PosthornError("not_found", `There is no secret ${id}.`);
  return left;
}

/** Returns the same object when none has ended. */
export function endSecrets(known: readonly SourceSecret[], now: number): readonly SourceSecret[] {
  const left = known.filter(({ endsAt }) => endsAt === undefined || endsAt > now);
  return left.length === known.length ? known : left;
}
