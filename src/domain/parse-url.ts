/**
 * Undefined for what is no URL. Not by `URL.canParse`: that of Node 20, once V8 has optimised it, refuses every URL with a
 * letter such as ü in it.
 */
export function parseUrl(text: string, base?: string | URL): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}
