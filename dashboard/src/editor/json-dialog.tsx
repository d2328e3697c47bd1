import { useState, type ReactNode } from "react";
import { ApiError } from "../api/client.ts";
import { FormDialog } from "../ui/form-dialog.tsx";
import { useAct } from "../ui/use-act.ts";
import { Outdated } from "../ui/outdated.tsx";
import { faultOfMessage, type Fault } from "./faults.ts";
import { LazyCodeEditor } from "./lazy-code-editor.tsx";

interface JsonDialogProps<Answer> {
  title: string;
  act: string;
  initialText: string;
  etag?: string | undefined;
  /** The text is sent as it is, so that numbers stay what they are. */
  save: (text: string, etag: string | undefined) => Promise<Answer>;
  /** As it is stored now, for when somebody else has changed it. */
  load?: () => Promise<{ thing: string; etag: string | undefined }>;
  changes: readonly string[];
  says: string;
  onClose: () => void;
  onDone?: (answer: Answer) => void;
  children?: ReactNode;
}

/** Something that is edited as JSON. What the gateway rejects is shown at its line. */
export function JsonDialog<Answer>(props: JsonDialogProps<Answer>) {
  const { title, act, initialText, save, load, changes, says, onClose, onDone, children } = props;
  const [base, setBase] = useState({ text: initialText, etag: props.etag, number: 0 });
  const [text, setText] = useState(initialText);
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const saving = useAct({
    run: () => save(text, base.etag),
    changes,
    says,
    onDone(answer) {
      onClose();
      onDone?.(answer);
    },
    isFailureShown(error) {
      if (error instanceof ApiError && error.status === 412) return load !== undefined;
      setFaults([faultOfMessage(error.message)]);
      return true;
    },
  });
  const isOutdated = saving.error instanceof ApiError && saving.error.isOutdated;

  return (
    <FormDialog
      title={title}
      act={act}
      onClose={onClose}
      onSubmit={() => saving.mutate()}
      isBusy={saving.isPending}
      canSubmit={isJson(text)}
      isWide
    >
      {children}
      {isOutdated && load !== undefined && (
        <Outdated
          yours={text}
          load={load}
          onTakeTheirs={(now) => {
            setBase({ text: now.thing, etag: now.etag, number: base.number + 1 });
            setText(now.thing);
            saving.reset();
          }}
          onKeepYours={({ etag }) => {
            setBase({ ...base, etag });
            saving.reset();
          }}
        />
      )}
      <LazyCodeEditor
        key={base.number}
        label={title}
        language="json"
        initialText={base.text}
        onChange={(typed) => {
          setText(typed);
          setFaults([]);
        }}
        faults={faults}
      />
      <FaultList faults={faults} />
    </FormDialog>
  );
}

export function FaultList({ faults }: { faults: readonly Fault[] }) {
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
