import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { ApiError, type Versioned } from "../api/client.ts";
import { changesOf, type Draft, type Fault } from "./draft.ts";
import type { Field } from "./fields.ts";

export interface EditingOptions<Thing> {
  /** What the form begins with; undefined for a new one. */
  opened: Versioned<Thing> | undefined;
  /** What a new one begins with. */
  preset?: Draft;
  fields: readonly Field[];
  toDraft: (thing: Thing) => Draft;
  create: (body: Draft) => Promise<Thing>;
  change: (changes: Draft, etag: string | undefined) => Promise<Thing>;
  reload: () => Promise<Versioned<Thing>>;
  onSaved: (thing: Thing, changes: Draft) => void;
}

export interface Conflict {
  mine: Draft;
  before: Draft;
  theirs: Draft;
  onOverwrite: () => void;
  onTakeTheirs: () => void;
}

export interface Editing {
  draft: Draft;
  setDraft: (draft: Draft) => void;
  /** What the gateway said is wrong, and with which field. */
  fault: Fault | undefined;
  error: Error | null;
  isBusy: boolean;
  submit: () => void;
  conflict: Conflict | undefined;
}

/** A form over something that others may change too: what is sent is what was changed here, on the version that was read. */
export function useEditing<Thing>(options: EditingOptions<Thing>): Editing {
  const { opened, fields, toDraft } = options;
  const [base, setBase] = useState(() => ({
    draft: opened === undefined ? {} : toDraft(opened.thing),
    etag: opened?.etag,
  }));
  const [draft, setDraft] = useState<Draft>(opened === undefined ? (options.preset ?? {}) : base.draft);
  const [theirs, setTheirs] = useState<{ draft: Draft; etag: string | undefined }>();
  const changes = changesOf(base.draft, draft, fields);

  const save = useMutation<Thing, Error, string | undefined>({
    mutationFn: (etag) => (opened === undefined ? options.create(draft) : options.change(changes, etag)),
    onSuccess: (thing) => options.onSaved(thing, changes),
    async onError(error) {
      if (!(error instanceof ApiError) || !error.isOutdated) return;
      const { thing, etag } = await options.reload();
      setTheirs({ draft: toDraft(thing), etag });
    },
  });
  const { error } = save;
  const isOutdated = error instanceof ApiError && error.isOutdated;
  useEffect(() => {
    const fault = findFault(error);
    if (fault !== undefined) showField(fault.field);
  }, [error]);

  return {
    draft,
    setDraft,
    fault: findFault(error),
    error: isOutdated ? null : error,
    isBusy: save.isPending,
    submit: () => save.mutate(base.etag),
    conflict:
      !isOutdated || theirs === undefined
        ? undefined
        : {
            mine: changes,
            before: base.draft,
            theirs: theirs.draft,
            onOverwrite: () => save.mutate(theirs.etag),
            onTakeTheirs() {
              setBase(theirs);
              setDraft(theirs.draft);
              setTheirs(undefined);
              save.reset();
            },
          },
  };
}

function findFault(error: Error | null): Fault | undefined {
  if (!(error instanceof ApiError) || error.field === undefined) return undefined;
  return { field: error.field, message: error.message };
}

/** The field, or the nearest that it lies in. */
function showField(field: string): void {
  for (let path = field; path !== ""; path = path.replace(/[.[]?[^.[]*$/, "")) {
    const place = document.querySelector(`[data-field="${CSS.escape(path)}"]`);
    if (place === null) continue;
    const control = place.querySelector<HTMLElement>("input, textarea, select, button");
    (control ?? place).scrollIntoView({ block: "center" });
    control?.focus();
    return;
  }
}
