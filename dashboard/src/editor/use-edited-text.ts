import { useState } from "react";
import type { Versioned } from "../api/client.ts";
import { isOutdated, type OutdatedProps } from "../ui/outdated.tsx";
import { useAction } from "../ui/use-action.ts";
import { faultsOf, type Fault } from "./faults.ts";

interface EditedTextOptions<Answer> {
  /** What the editor begins with. */
  first: Versioned<string>;
  /** The text is sent as it is, so that numbers stay what they are. */
  save: (text: string, etag: string | undefined) => Promise<Answer>;
  /** As it is stored now, for when somebody else has changed it. */
  load?: (() => Promise<Versioned<string>>) | undefined;
  changes: readonly string[];
  says: string;
  onDone: (answer: Answer) => void;
}

export interface EditedText {
  text: string;
  /** What the editor begins with; another number begins anew. */
  base: { text: string; number: number };
  setText: (text: string) => void;
  /** What the gateway rejects; gone as soon as the text changes. */
  faults: readonly Fault[];
  isBusy: boolean;
  submit: () => void;
  /** Both versions, after somebody else has saved first. */
  outdated: OutdatedProps<Versioned<string>> | undefined;
}

/** A text that is saved on top of the version that was read, and never unseen over another. */
export function useEditedText<Answer>(options: EditedTextOptions<Answer>): EditedText {
  const { first, save, load, changes, says, onDone } = options;
  const [base, setBase] = useState({ text: first.thing, etag: first.etag, number: 0 });
  const [text, setText] = useState(first.thing);
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const saving = useAction({
    run: () => save(text, base.etag),
    changes,
    says,
    onDone,
    isFailureShown(error) {
      if (isOutdated(error)) return load !== undefined;
      setFaults(faultsOf(error));
      return true;
    },
  });

  return {
    text,
    base,
    setText(typed) {
      setText(typed);
      setFaults([]);
    },
    faults,
    isBusy: saving.isPending,
    submit: () => saving.mutate(),
    outdated:
      load !== undefined && isOutdated(saving.error)
        ? {
            yours: () => text,
            load,
            onTakeTheirs(now) {
              setBase({ text: now.thing, etag: now.etag, number: base.number + 1 });
              setText(now.thing);
              saving.reset();
            },
            onKeepYours({ etag }) {
              setBase({ ...base, etag });
              saving.reset();
            },
          }
        : undefined,
  };
}
