import stringWidth from "string-width";

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
  // A sentence goes on in the next line.
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
