import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PROJECT_ROOT } from "../sample-checkout.ts";

/** The pages that people read, and what can be checked in them. */
export interface Page {
  /** From the root of the checkout: `docs/start/tour.md`. */
  readonly path: string;
  readonly text: string;
}

export interface Block {
  /** The first word behind the fence: `sh`, `yaml`; empty where there is none. */
  readonly language: string;
  /** The other words: `run`, or the name of a file. */
  readonly words: readonly string[];
  readonly text: string;
  /** Of the fence, from 1. */
  readonly line: number;
}

const FOLDERS = ["docs", "examples", "sdk", "bench"];

export function listPages(): readonly Page[] {
  const root = readdirSync(PROJECT_ROOT).filter((name) => name.endsWith(".md"));
  const below = FOLDERS.flatMap((folder) =>
    readdirSync(join(PROJECT_ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md") && !name.includes("node_modules"))
      .map((name) => `${folder}/${name}`),
  );
  return [...root, ...below].toSorted().map(readPage);
}

export function readPage(path: string): Page {
  return { path, text: readFileSync(join(PROJECT_ROOT, path), "utf8") };
}

export function readBlocks(text: string): readonly Block[] {
  const blocks: Block[] = [];
  let open: { fence: string; info: string; line: number; lines: string[] } | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const [, fence, info = ""] = /^ {0,3}(`{3,})\s*(.*)$/.exec(line) ?? [];
    if (open === undefined) {
      if (fence !== undefined) open = { fence, info, line: index + 1, lines: [] };
    } else if (fence !== undefined && fence.length >= open.fence.length && info === "") {
      const [language = "", ...words] = open.info.trim().split(/\s+/);
      blocks.push({ language, words, text: `${open.lines.join("\n")}\n`, line: open.line });
      open = undefined;
    } else open.lines.push(line);
  }
  if (open !== undefined) throw new Error(`the block that begins in line ${open.line} has no end`);
  return blocks;
}

/** The same lines without what stands in code blocks, so that places stay. */
export function withoutBlocks(text: string): string {
  let isInside = false;
  return text
    .split("\n")
    .map((line) => {
      const isFence = /^ {0,3}```/.test(line);
      const isHidden = isFence || isInside;
      if (isFence) isInside = !isInside;
      return isHidden ? "" : line;
    })
    .join("\n");
}

/** As GitHub makes the anchors of headings; a heading that comes again gets a number. */
export function listAnchors(text: string): ReadonlySet<string> {
  const seen = new Map<string, number>();
  const anchors = new Set<string>();
  for (const [, heading = ""] of withoutBlocks(text).matchAll(/^#{1,6} (.+)$/gm)) {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/[`*]/g, "");
    const slug = plain
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(" ", "-");
    const times = seen.get(slug) ?? 0;
    seen.set(slug, times + 1);
    anchors.add(times === 0 ? slug : `${slug}-${times}`);
  }
  return anchors;
}

/** Links of a page that lead to files or anchors; what stands in code is none. */
export function listLinks(text: string): readonly string[] {
  const prose = withoutBlocks(text).replaceAll(/`[^`\n]*`/g, (code) => " ".repeat(code.length));
  return [...prose.matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)/g)].map(([, link = ""]) => link);
}
