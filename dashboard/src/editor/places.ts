import { ensureSyntaxTree, syntaxTree } from "@codemirror/language";
import type { EditorState } from "@codemirror/state";
import type { Fault } from "./faults.ts";

type SyntaxNode = ReturnType<typeof syntaxTree>["topNode"];

interface Range {
  from: number;
  to: number;
}

const PARSE_MS = 200;

/** Why the text is no JSON, at the line where it stops being so. */
export function findJsonFault(state: EditorState): Fault | undefined {
  const text = state.doc.toString();
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    // The parser's words tell the place of some errors only.
    const { message } = error as Error;
    const told = /at position (\d+)/.exec(message)?.[1];
    const at = told === undefined ? findBrokenNode(state) : Math.min(Number(told), state.doc.length);
    return { message: `This is not valid JSON: ${message}`, line: state.doc.lineAt(at).number };
  }
}

function findBrokenNode(state: EditorState): number {
  const tree = ensureSyntaxTree(state, state.doc.length, PARSE_MS) ?? syntaxTree(state);
  let found: number | undefined;
  tree.iterate({
    enter({ type, from }) {
      if (type.isError) found ??= from;
      return found === undefined;
    },
  });
  return found ?? state.doc.length;
}

/** What is underlined for a fault; the first line where it names no place that there is. */
export function rangeOf(state: EditorState, { line, pointer }: Fault): Range {
  if (pointer !== undefined) return findPointer(state, pointer);
  const { from, to } = state.doc.line(Math.min(Math.max(1, line ?? 1), state.doc.lines));
  return { from, to };
}

/** The name of a member or an item of an array; of one that is missing, the nearest that is there. */
function findPointer(state: EditorState, pointer: string): Range {
  const tree = ensureSyntaxTree(state, state.doc.length, PARSE_MS) ?? syntaxTree(state);
  const textOf = ({ from, to }: Range) => state.doc.sliceString(from, to);
  let node: SyntaxNode | null = tree.topNode.firstChild;
  let shown: Range | undefined;
  for (const step of pointer.split("/").slice(1).map(unescapeStep)) {
    const children: SyntaxNode[] = node === null ? [] : childrenOf(node);
    if (node?.name === "Array") {
      node = children.filter(({ name }) => !["[", "]", ","].includes(name))[Number(step)] ?? null;
      shown = node ?? shown;
    } else {
      const property = children.find(
        (child) =>
          child.name === "Property" && child.firstChild !== null && readName(textOf(child.firstChild)) === step,
      );
      shown = property?.firstChild ?? shown;
      node = property?.lastChild ?? null;
    }
    if (node === null) break;
  }
  const { from, to } = shown ?? state.doc.line(1);
  // An item may be a whole object: its first line is enough.
  return { from, to: Math.max(from, Math.min(to, state.doc.lineAt(from).to)) };
}

function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) children.push(child);
  return children;
}

/** RFC 6901. */
function unescapeStep(step: string): string {
  return step.replaceAll("~1", "/").replaceAll("~0", "~");
}

function readName(quoted: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return quoted;
  }
}
