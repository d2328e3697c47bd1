import stringWidth from "string-width";
import { getSurroundings, type Output } from "./surroundings.ts";

export interface Terminal {
  /** In characters; undefined when the output is a file or a program, where nothing is cut off. */
  readonly width: number | undefined;
  readonly hasColour: boolean;
}

/** Colours a text. The text must already be escaped: it is printed unchanged. */
export type Paint = (style: Style, text: string) => string;

export const DEFAULT_WIDTH = 80;
/** Narrower terminals are treated as this wide: lines wrap, but stay readable. */
export const MIN_WIDTH = 40;

/** https://no-color.org: any value that is not empty switches colours off. */
export function findTerminal(stream: Pick<Output, "isTTY" | "columns"> = getSurroundings().stdout): Terminal {
  if (stream.isTTY !== true) return { width: undefined, hasColour: false };
  const { NO_COLOR: noColour = "", TERM: term = "" } = getSurroundings().env;
  // A terminal that does not know its size reports 0.
  const { columns = 0 } = stream;
  const width = columns > 0 ? Math.max(MIN_WIDTH, columns) : DEFAULT_WIDTH;
  return { width, hasColour: noColour === "" && term !== "dumb" };
}

/** ECMA-48 codes that start and end a style. */
const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
  grey: [90, 39],
} as const;
export type Style = keyof typeof CODES;

export function createPaint({ hasColour }: Pick<Terminal, "hasColour">): Paint {
  if (!hasColour) return (_style, text) => text;
  return (style, text) => {
    const [on, off] = CODES[style];
    return text === "" ? text : `\u001b[${on}m${text}\u001b[${off}m`;
  };
}

/** The API's words for states. Other words have no colour. */
const WORDS: Readonly<Record<string, Style>> = Object.fromEntries([
  ...styled("green", "delivered active healthy ok accepted success completed enabled normal ready NORMAL COMPLETED"),
  ...styled(
    "yellow",
    "pending sending running paused failing inactive held ignored deprecated duplicate QUEUE PENDING degraded",
  ),
  ...styled(
    "red",
    "dead failed down suspended rejected error closed timeout connection_error blocked FAILED missing fired",
  ),
  ...styled("dim", "cancelled revoked expired -"),
]);

function styled(style: Style, words: string): [string, Style][] {
  return words.split(" ").map((word) => [word, style]);
}

/** `dead (refused)` has the colour of its first word. */
export function findWordStyle(text: string): Style | undefined {
  const [word = ""] = text.split(" ", 1);
  return Object.hasOwn(WORDS, word) ? WORDS[word] : undefined;
}

/** Breaks only between words: what people copy from a line must be complete. */
export function wrap(text: string, room: number | undefined): string[] {
  if (room === undefined || stringWidth(text) <= room) return [text];
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && stringWidth(longer) <= room) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** Fits the prose of a help text to the width. What is indented stays as it is: people copy examples. */
export function reflow(text: string, width: number): string {
  const joined = text.replace(/([^\n.:])\n(?=[^\s])/g, "$1 ");
  return joined
    .split("\n")
    .flatMap((line) => (line.startsWith(" ") ? [line] : wrap(line, width)))
    .join("\n");
}

/** The lines after the first begin with the indent, and all of them fit the width. */
export function wrapIndented(text: string, width: number | undefined, indent: string): string {
  return wrap(text, width === undefined ? undefined : width - indent.length).join(`\n${indent}`);
}
