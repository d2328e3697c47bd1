import { parseUrl } from "../../model/addresses.ts";

/** An https origin of the configuration, and the thing that names it. */
export interface HttpsOrigin {
  origin: string;
  /** Certificate authorities that replace the usual ones, as PEM. */
  ca: string | undefined;
  /** True when encrypted settings could not be read: they may name other authorities. */
  hasSealed: boolean;
}

/** Every `https:` address in the settings of any kind of destination, except parts that a template fills. */
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

/** The first text with this member name, at any depth. */
function findText(value: unknown, name: string): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const text = key === name && typeof inner === "string" ? inner : findText(inner, name);
    if (text !== undefined) return text;
  }
  return undefined;
}
