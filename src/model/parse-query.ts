/** Parses a URL query: a name that is given several times has a list of values. */
export function parseQuery(text: string): Record<string, string | string[]> {
  const values = new Map<string, string | string[]>();
  for (const [name, value] of new URLSearchParams(text)) {
    const known = values.get(name);
    if (known === undefined) values.set(name, value);
    else if (typeof known === "string") values.set(name, [known, value]);
    else known.push(value);
  }
  return Object.fromEntries(values);
}
