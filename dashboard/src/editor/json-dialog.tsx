import type { Versioned } from "../api/client.ts";
import { FormDialog } from "../ui/form-dialog.tsx";
import { isJson, TextEditing } from "./text-editing.tsx";
import { useEditedText } from "./use-edited-text.ts";

interface JsonDialogProps<Answer> {
  title: string;
  action: string;
  first: Versioned<string>;
  /** The text is sent as it is, so that numbers stay what they are. */
  save: (text: string, etag: string | undefined) => Promise<Answer>;
  /** As it is stored now, for when somebody else has changed it. */
  load?: () => Promise<Versioned<string>>;
  changes: readonly string[];
  says: string;
  onClose: () => void;
  onDone?: (answer: Answer) => void;
}

/** Something that is edited as JSON. */
export function JsonDialog<Answer>(props: JsonDialogProps<Answer>) {
  const { title, action, first, save, load, changes, says, onClose, onDone } = props;
  const edited = useEditedText({
    first,
    save,
    load,
    changes,
    says,
    onDone(answer) {
      onClose();
      onDone?.(answer);
    },
  });
  return (
    <FormDialog
      title={title}
      action={action}
      onClose={onClose}
      onSubmit={edited.submit}
      isBusy={edited.isBusy}
      canSubmit={isJson(edited.text)}
      isWide
    >
      <TextEditing label={title} language="json" edited={edited} />
    </FormDialog>
  );
}
