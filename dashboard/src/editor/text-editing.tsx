import { Outdated } from "../ui/outdated.tsx";
import type { Fault } from "./faults.ts";
import { LazyCodeEditor } from "./lazy-code-editor.tsx";
import type { EditedText } from "./use-edited-text.ts";

interface TextEditingProps {
  label: string;
  language: "json" | "xml";
  edited: EditedText;
}

/** The editor, what the gateway rejects at its line, and both versions where somebody else was first. */
export function TextEditing({ label, language, edited }: TextEditingProps) {
  return (
    <>
      {edited.outdated !== undefined && <Outdated {...edited.outdated} />}
      <LazyCodeEditor
        key={edited.base.number}
        label={label}
        language={language}
        initialText={edited.base.text}
        onChange={edited.setText}
        faults={edited.faults}
      />
      <FaultList faults={edited.faults} />
    </>
  );
}

function FaultList({ faults }: { faults: readonly Fault[] }) {
  return (
    <div role="status">
      {faults.map(({ message }) => (
        <p key={message} className="error-text small">
          {message}
        </p>
      ))}
    </div>
  );
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
