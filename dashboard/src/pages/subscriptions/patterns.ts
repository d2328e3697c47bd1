import { matchesPattern, parsePattern } from "../../../../src/model/pattern.ts";

/** A pattern while it is typed: what is wrong with it, or what it matches. */
export function asPattern(text: string): { fault: string | undefined; matches: (name: string) => boolean } {
  try {
    const pattern = parsePattern(text);
    return { fault: undefined, matches: (name) => matchesPattern(pattern, name) };
  } catch (error) {
    return { fault: (error as Error).message, matches: () => false };
  }
}
