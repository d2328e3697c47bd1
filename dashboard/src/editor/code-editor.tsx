import { useEffect, useEffectEvent, useRef } from "react";
import { openEditor, type OpenEditor } from "./open-editor.ts";
import type { Fault } from "./faults.ts";

export interface CodeEditorProps {
  label: string;
  language: "json" | "xml";
  /** What it begins with; another `key` begins anew. */
  initialText: string;
  onChange: (text: string) => void;
  /** What the gateway found wrong, shown at their lines until the text changes. */
  faults?: readonly Fault[] | undefined;
}

const NONE: readonly Fault[] = [];

/** A text with line numbers, colours and errors at their places. Large: only for `lazy`. */
export function CodeEditor({ label, language, initialText, onChange, faults = NONE }: CodeEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<OpenEditor>(undefined);
  const notify = useEffectEvent(onChange);
  const initial = useRef(initialText);

  useEffect(() => {
    if (place.current === null) return undefined;
    const opened = openEditor(place.current, {
      label,
      language,
      text: initial.current,
      onChange: (text) => notify(text),
    });
    editor.current = opened;
    return opened.close;
  }, [label, language]);
  useEffect(() => editor.current?.show(faults), [faults]);

  return <div ref={place} className="editor" />;
}
