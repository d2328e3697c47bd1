import { useState } from "react";
import { faultOfMessage, type Fault } from "../../editor/faults.ts";
import { LazyCodeEditor } from "../../editor/lazy-code-editor.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { useAction } from "../../ui/use-action.ts";
import { FIRST_PAYLOAD, LANGUAGES } from "./formats.ts";
import { tryDraft, tryPayload, type Format } from "./validation-queries.ts";

interface TryPayloadProps {
  endpoint: string;
  format: Format;
  /** What is written and not saved; else what is in force. */
  draft?: string;
}

/** What would become of a webhook, with each error at its line. */
export function TryPayload({ endpoint, format, draft }: TryPayloadProps) {
  const [text, setText] = useState(FIRST_PAYLOAD[format]);
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const check = useAction({
    run: () => (draft === undefined ? tryPayload(endpoint, format, text) : tryDraft(endpoint, format, draft, text)),
    changes: [],
    onDone: ({ errors }) =>
      setFaults(
        errors.map(({ path, message, line }) => ({
          message: `${path} ${message}`.trim(),
          ...(line === undefined ? { pointer: path } : { line }),
        })),
      ),
    isFailureShown(error) {
      setFaults([faultOfMessage(error.message)]);
      return true;
    },
  });
  const result = check.data;
  return (
    <>
      <div className="card-head">
        <h2>{draft === undefined ? "Try a payload" : "Try a payload before you save"}</h2>
        <Button isBusy={check.isPending} onClick={() => check.mutate()}>
          Check
        </Button>
      </div>
      <LazyCodeEditor
        label="Payload"
        language={LANGUAGES[format]}
        initialText={FIRST_PAYLOAD[format]}
        onChange={(typed) => {
          setText(typed);
          setFaults([]);
          check.reset();
        }}
        faults={faults}
      />
      <div role="status">
        {result !== undefined && (
          <p>
            <Badge state={result.valid ? "ok" : "failed"}>{result.valid ? "valid" : "invalid"}</Badge>{" "}
            {result.validation === null
              ? "No validation applies to this endpoint."
              : `Checked by ${draft === undefined ? `the validation of ${result.validation}` : "what is written above"}.`}
          </p>
        )}
        <ul className="rows">
          {faults.map(({ message, line }) => (
            <li key={message} className="error-text small">
              {line === undefined ? message : `Line ${line}: ${message}`}
            </li>
          ))}
        </ul>
      </div>
    </>
  );
}
