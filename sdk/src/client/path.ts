/** A path whose parameters cannot lead elsewhere: path`/api/v1/events/${id}`. */
export function path(words: TemplateStringsArray, ...parameters: readonly string[]): string {
  return words.reduce((text, word, index) => text + encodeSegment(parameters[index - 1] ?? "") + word);
}

/** A path with slashes, each of its parts encoded. */
export function pathBelow(text: string): string {
  return text.split("/").map(encodeSegment).join("/");
}

function encodeSegment(text: string): string {
  if (text === "" || text === "." || text === "..") {
    throw new TypeError(`${JSON.stringify(text)} cannot be part of a path. Is the id set?`);
  }
  return encodeURIComponent(text);
}

export type Query = object;

/** What is undefined or null is left out; a list is several values of the same name. */
export function withQuery(pathname: string, query: Query | undefined): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of [value].flat() as unknown[])
      if (one !== undefined && one !== null) given.append(name, toText(one));
  }
  const text = given.toString();
  return text === "" ? pathname : `${pathname}?${text}`;
}

function toText(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}
