/**
 * Undefined when the text is not a URL. Does not use `URL.canParse`: in Node 20, once V8 has optimised it, it rejects
 * every URL that contains a letter such as ü.
 */
export function parseUrl(text: string, base?: string | URL): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}
