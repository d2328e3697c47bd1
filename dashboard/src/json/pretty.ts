import { skipSpace, skipString, skipWord } from "./skip.ts";

/** One line of JSON as people read it. Made of the text and not of values, so that nothing of it changes. */
export interface Line {
  depth: number;
  /** With its quotes; undefined in lists and for closing brackets. */
  name: string | undefined;
  kind: "string" | "number" | "word" | "open" | "close" | "empty";
  text: string;
  hasComma: boolean;
  /** Of an opening line: where its closing one is. */
  end: number | undefined;
  /** Of an opening line: how many members or items it has. */
  size: number;
}

/** Undefined for what is no JSON. Without recursion: a depth of thousands is nothing special. */
export function toLines(json: string): Line[] | undefined {
  try {
    JSON.parse(json);
  } catch {
    return undefined;
  }
  const lines: Line[] = [];
  /** Opening lines that are not closed yet. */
  const open: Line[] = [];
  let name: string | undefined;
  let at = skipSpace(json, 0);

  const add = (kind: Line["kind"], text: string): Line => {
    const line: Line = { depth: open.length, name, kind, text, hasComma: false, end: undefined, size: 0 };
    lines.push(line);
    name = undefined;
    const parent = open.at(-1);
    if (parent !== undefined && kind !== "close") parent.size++;
    return line;
  };

  while (at < json.length) {
    const sign = json[at] as string;
    if (sign === "{" || sign === "[") {
      const next = skipSpace(json, at + 1);
      const closing = sign === "{" ? "}" : "]";
      if (json[next] === closing) {
        add("empty", sign + closing);
        at = next + 1;
      } else {
        open.push(add("open", sign));
        at++;
      }
    } else if (sign === "}" || sign === "]") {
      const opening = open.pop();
      add("close", sign);
      if (opening !== undefined) opening.end = lines.length - 1;
      at++;
    } else if (sign === ",") {
      const last = lines.at(-1);
      if (last !== undefined) last.hasComma = true;
      at++;
    } else if (sign === '"') {
      const end = skipString(json, at);
      const text = json.slice(at, end);
      at = skipSpace(json, end);
      if (json[at] === ":") {
        name = text;
        at++;
      } else add("string", text);
    } else {
      const end = skipWord(json, at);
      const text = json.slice(at, end);
      add(/[a-z]/.test(text[0] ?? "") ? "word" : "number", text);
      at = end;
    }
    at = skipSpace(json, at);
  }
  return lines;
}

/** The same as text, for editors and the clipboard. What is no JSON stays as it is. */
export function prettyText(json: string): string {
  const lines = toLines(json);
  if (lines === undefined) return json;
  return lines
    .map(({ depth, name, text, hasComma }) => {
      const member = name === undefined ? "" : `${name}: `;
      return `${"  ".repeat(Math.min(depth, MAX_INDENT))}${member}${text}${hasComma ? "," : ""}`;
    })
    .join("\n");
}

/** Deeper levels are not moved further to the right. */
export const MAX_INDENT = 40;
