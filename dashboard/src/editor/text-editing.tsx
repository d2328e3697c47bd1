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
  const ownFault = language === "json" ? describeJsonFault(edited.text) : undefined;
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
      <FaultList faults={ownFault === undefined ? edited.faults : [{ message: ownFault }]} />
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
  return describeJsonFault(text) === undefined;
}

function describeJsonFault(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return `This is not valid JSON: ${(error as Error).message}`;
  }
}
