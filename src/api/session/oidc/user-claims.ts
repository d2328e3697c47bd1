/** Claims of a user, from the ID token and the provider's user info. */
export type Claims = Readonly<Record<string, unknown>>;

const MAX_GROUPS = 10_000;
const MAX_NAME_LENGTH = 100;

/** Undefined when the claim is missing; a single text counts as one group. A name with dots may be nested. */
export function readGroups(claims: Claims, name: string): readonly string[] | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : findNested(claims, name.split("."));
  if (typeof value === "string") return [value];
  if (!Array.isArray(value)) return undefined;
  return value.slice(0, MAX_GROUPS).filter((group): group is string => typeof group === "string");
}

function findNested(claims: unknown, steps: readonly string[]): unknown {
  let value = claims;
  for (const step of steps) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Claims)[step];
  }
  return value;
}

/** A name that people recognise. Only shown: the subject identifies the user. */
export function readName(claims: Claims, subject: string): string {
  const names = ["preferred_username", "email", "name"].map((claim) => claims[claim]);
  const found = names.find((name): name is string => typeof name === "string" && /\S/.test(name)) ?? subject;
  // Without control characters, and without signs that turn the direction of writing.
  return found.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "").slice(0, MAX_NAME_LENGTH);
}
