import stringWidth from "string-width";
import { createPaint, findTerminal, type Style, type Terminal } from "../../src/cli/terminal.ts";
import { escapeControls } from "../../src/telemetry/terminal-text.ts";

/** Tells a walk-through as it goes: numbered steps, what was sent, what was seen. */
export interface Narrator {
  title(name: string, text: string): void;
  /** The next numbered step. */
  step(title: string, text?: string): void;
  say(text: string): void;
  sent(text: string): void;
  answered(text: string): void;
  /** Something was seen, as it should be. */
  passed(text: string): void;
  /** Further lines are shown as they are: what a program that failed has printed, say. */
  failed(text: string): void;
  /** A command that a reader could give, and what it printed. */
  command(line: string, output?: string): void;
  /** A heading, and names with values in two columns under it. */
  facts(heading: string, facts: readonly (readonly [name: string, value: string | number])[]): void;
  /** A heading, and commands to copy: none of them is cut or wrapped. */
  commands(heading: string, lines: readonly string[]): void;
}

export interface Output {
  terminal: Terminal;
  write(text: string): void;
}

export const STDOUT: Output = {
  terminal: findTerminal(),
  write: (text) => void process.stdout.write(text),
};

/** Longer lines are hard to read, however wide the terminal is. */
const MAX_PROSE_WIDTH = 100;
const INDENT = "   ";

export function createNarrator({ terminal, write }: Output): Narrator {
  const paint = createPaint(terminal);
  const width = terminal.width ?? Infinity;
  let steps = 0;

  const line = (text = "") => write(`${text}\n`);

  function prose(text: string, first: string, rest: string): void {
    // What came from outside must not move the cursor, nor bring colours of its own.
    const lines = wrap(escapeControls(text), Math.min(width, MAX_PROSE_WIDTH) - rest.length);
    for (const [at, part] of lines.entries()) line((at === 0 ? first : rest) + part);
  }

  /** One line, cut where the terminal ends: it shows what a message looks like, not all of it. */
  function wire(arrow: string, style: Style, text: string): void {
    line(`${INDENT}${paint(style, arrow)} ${cutOff(escapeControls(text), width - INDENT.length - 2)}`);
  }

  function printed(lines: readonly string[]): void {
    for (const text of lines.filter((one) => one !== "")) {
      line(`${INDENT}${paint("dim", cutOff(escapeControls(text), width - INDENT.length))}`);
    }
  }

  const mark = (sign: string, style: Style, text: string) =>
    prose(text, `${INDENT}${paint(style, sign)} `, `${INDENT}  `);

  return {
    title(name, text) {
      line();
      line(paint("bold", name));
      prose(text, "", "");
    },
    step(title, text) {
      steps++;
      line();
      const number = String(steps).padEnd(INDENT.length);
      line(`${paint("cyan", number)}${paint("bold", title)}`);
      if (text !== undefined) prose(text, INDENT, INDENT);
    },
    say: (text) => prose(text, INDENT, INDENT),
    sent: (text) => wire("→", "cyan", text),
    answered: (text) => wire("←", "cyan", text),
    passed: (text) => mark("✓", "green", text),
    failed(text) {
      const [first = "", ...others] = text.trimEnd().split("\n");
      mark("✗", "red", first);
      printed(others);
    },
    command(given, output = "") {
      const parts = wrap(given, width - INDENT.length - 6);
      for (const [at, part] of parts.entries()) {
        const more = at < parts.length - 1 ? " \\" : "";
        line(`${INDENT}${paint("dim", at === 0 ? "$ " : "    ")}${paint("bold", part + more)}`);
      }
      printed(output.trimEnd().split("\n"));
    },
    facts(heading, facts) {
      line();
      line(paint("bold", heading));
      const names = Math.max(...facts.map(([name]) => stringWidth(name)));
      for (const [name, value] of facts) {
        const blanks = " ".repeat(names - stringWidth(name));
        prose(String(value), `${INDENT}${paint("dim", name)}${blanks}  `, " ".repeat(INDENT.length + names + 2));
      }
    },
    commands(heading, lines) {
      line();
      line(paint("bold", heading));
      for (const given of lines) line(INDENT + given);
    },
  };
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && stringWidth(longer) > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line];
}

function cutOff(text: string, width: number): string {
  return stringWidth(text) <= width ? text : `${text.slice(0, width - 1)}…`;
}
