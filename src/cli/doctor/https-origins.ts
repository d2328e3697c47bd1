import { parseUrl } from "../../domain/parse-url.ts";

/** Where something of a configuration leads to, and who says so. */
export interface HttpsOrigin {
  origin: string;
  /** Authorities that it is verified with instead of the usual ones, as PEM. */
  ca: string | undefined;
  /** What is sealed cannot be read here, and may name authorities of its own. */
  hasSealed: boolean;
}

/** Every `https:` address in a setting of any kind of destination; parts that a template fills are left alone. */
export function collectHttpsOrigins(things: readonly unknown[]): HttpsOrigin[] {
  const found = new Map<string, HttpsOrigin>();

  function walk(value: unknown, ca: string | undefined, hasSealed: boolean): void {
    if (typeof value === "string") {
      const url = value.startsWith("https://") ? parseUrl(value) : undefined;
      if (url === undefined || /[{}%]/.test(url.hostname)) return;
      found.set(`${ca ?? ""} ${url.origin}`, { origin: url.origin, ca, hasSealed });
    } else if (typeof value === "object" && value !== null) {
      for (const inner of Object.values(value)) walk(inner, ca, hasSealed);
    }
  }

  for (const thing of things) walk(thing, findText(thing, "ca"), findText(thing, "sealed") !== undefined);
  return [...found.values()].sort((a, b) => (a.origin < b.origin ? -1 : 1));
}

/** The first text of this name, however deep. */
function findText(value: unknown, name: string): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const text = key === name && typeof inner === "string" ? inner : findText(inner, name);
    if (text !== undefined) return text;
  }
  return undefined;
}
