const NUMBER = /-?\d+(\.\d+)?([eE][+-]?\d+)?/y;
const WHITE = /[ \t\n\r]*/y;
const PLAIN = { enumerable: true, configurable: true, writable: true };

/**
 * The same value as of `JSON.parse`, but integers beyond 2^53 are bigints. Only for text that has such digits: it is
 * slower. `JSON.parse` has a say first, so what comes here is well-formed.
 */
export function parseExactly(text: string): unknown {
  JSON.parse(text);
  let at = 0;

  function take(pattern: RegExp): string {
    pattern.lastIndex = at;
    const [found = ""] = pattern.exec(text) ?? [];
    at += found.length;
    return found;
  }

  function skip(character: string): boolean {
    take(WHITE);
    if (text[at] !== character) return false;
    at++;
    take(WHITE);
    return true;
  }

  /** By hand: a pattern runs out of stack on a text of some megabytes. */
  function readText(): string {
    let end = at;
    do end = text.indexOf('"', end + 1);
    while (isEscaped(text, end));
    const found = text.slice(at, end + 1);
    at = end + 1;
    return JSON.parse(found) as string;
  }

  function readArray(): unknown[] {
    const items: unknown[] = [];
    if (skip("]")) return items;
    do items.push(read());
    while (skip(","));
    skip("]");
    return items;
  }

  function readObject(): Record<string, unknown> {
    const members: Record<string, unknown> = {};
    if (skip("}")) return members;
    do {
      const name = readText();
      skip(":");
      const value = read();
      // As JSON.parse does: `__proto__` is a member like any other.
      if (name === "__proto__") Object.defineProperty(members, name, { value, ...PLAIN });
      else members[name] = value;
    } while (skip(","));
    skip("}");
    return members;
  }

  function read(): unknown {
    if (skip("[")) return readArray();
    if (skip("{")) return readObject();
    if (text[at] === '"') return readText();
    for (const word of ["true", "false", "null"]) {
      if (text.startsWith(word, at)) {
        at += word.length;
        return JSON.parse(word);
      }
    }
    return toNumber(take(NUMBER));
  }

  take(WHITE);
  return read();
}

function toNumber(digits: string): number | bigint {
  const value = Number(digits);
  return /^-?\d+$/.test(digits) && !Number.isSafeInteger(value) ? BigInt(digits) : value;
}

/** After an odd number of backslashes. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === "\\") first--;
  return (at - first) % 2 === 1;
}
