import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { xml } from "@codemirror/lang-xml";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { forceLinting, linter, lintGutter, type Diagnostic } from "@codemirror/lint";
import { EditorState, StateEffect } from "@codemirror/state";
import { EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Fault } from "./faults.ts";
import { findJsonFault, rangeOf } from "./places.ts";

export interface EditorOptions {
  label: string;
  language: "json" | "xml";
  text: string;
  onChange: (text: string) => void;
}

export interface OpenEditor {
  show(faults: readonly Fault[]): void;
  close(): void;
}

const LINT_MS = 250;
/** There is something new to mark, though the text is the same. */
const remark = StateEffect.define();

const THEME = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "13px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "20px", maxHeight: "60vh", minHeight: "160px" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-gutters": { color: "var(--text-muted)", backgroundColor: "var(--surface-sunk)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--surface-sunk)" },
  ".cm-tooltip": {
    color: "var(--text)",
    backgroundColor: "var(--surface-raised)",
    border: "1px solid var(--line-strong)",
  },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-soft)" },
});

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.attributeName], color: "var(--json-name)" },
  { tag: [tags.string, tags.attributeValue], color: "var(--json-string)" },
  { tag: tags.number, color: "var(--json-number)" },
  { tag: [tags.bool, tags.null, tags.tagName], color: "var(--json-word)" },
  { tag: tags.comment, color: "var(--text-muted)" },
]);

/** In a shadow root: there it may bring its styles along under a policy that allows none in the page. */
export function openEditor(place: HTMLElement, { label, language, text, onChange }: EditorOptions): OpenEditor {
  const root = place.shadowRoot ?? place.attachShadow({ mode: "open" });
  let faults: readonly Fault[] = [];

  function findAll({ state }: EditorView): Diagnostic[] {
    const own = language === "json" ? findJsonFault(state) : undefined;
    const all = own === undefined ? faults : [own];
    return all.map((fault) => ({ ...rangeOf(state, fault), severity: "error", message: fault.message }));
  }

  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        lintGutter(),
        history(),
        bracketMatching(),
        indentOnInput(),
        highlightActiveLine(),
        keymap.of([...defaultKeymap, ...historyKeymap]),
        language === "json" ? json() : xml(),
        syntaxHighlighting(COLOURS),
        THEME,
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged) onChange(state.doc.toString());
        }),
        linter(findAll, {
          delay: LINT_MS,
          needsRefresh: ({ transactions }) => transactions.some(({ effects }) => effects.some((one) => one.is(remark))),
        }),
      ],
    }),
  });

  return {
    show(given) {
      if (given.length === 0 && faults.length === 0) return;
      faults = given;
      const [first] = given;
      const scroll =
        first === undefined ? [] : [EditorView.scrollIntoView(rangeOf(view.state, first).from, { y: "center" })];
      view.dispatch({ effects: [remark.of(null), ...scroll] });
      forceLinting(view);
    },
    close() {
      view.destroy();
    },
  };
}
