import { readBlocks, type Block } from "./markdown.ts";

/**
 * What a reader of a page does, from its code blocks:
 * - `sh run`: run it; `sh run until`: again and again, until the text below it is seen
 * - `sh start terminal-1`: leave it running there; `sh stop terminal-1`: end it with Ctrl+C
 * - `text`: what is seen; `text terminal-1`: what is seen in that terminal
 * - `yaml posthorn.yaml`: save it as that file
 */
export type PageStep =
  | { readonly act: "run"; readonly script: string; readonly isRepeated: boolean; readonly block: Block }
  | { readonly act: "start"; readonly script: string; readonly terminal: string; readonly block: Block }
  | { readonly act: "stop"; readonly terminal: string; readonly block: Block }
  | { readonly act: "see"; readonly text: string; readonly terminal: string | undefined; readonly block: Block }
  | { readonly act: "save"; readonly file: string; readonly text: string; readonly block: Block };

export function readSteps(page: string): readonly PageStep[] {
  return readBlocks(page).flatMap((block) => toStep(block) ?? []);
}

/** Blocks for a shell that nobody runs: each needs a reason. */
export function listUnmarked(page: string): readonly Block[] {
  return readBlocks(page).filter((block) => block.language === "sh" && toStep(block) === undefined);
}

function toStep(block: Block): PageStep | undefined {
  const { language, words, text } = block;
  const [word = ""] = words;
  const terminal = words.find((one) => one.startsWith("terminal-"));
  if (language === "text") return { act: "see", text, terminal, block };
  if (/^[\w.-]+\.\w+$/.test(word)) return { act: "save", file: word, text, block };
  if (language !== "sh") return undefined;
  if (word === "run") return { act: "run", script: text, isRepeated: words.includes("until"), block };
  if (terminal === undefined) return undefined;
  if (word === "start") return { act: "start", script: text, terminal, block };
  return word === "stop" ? { act: "stop", terminal, block } : undefined;
}
