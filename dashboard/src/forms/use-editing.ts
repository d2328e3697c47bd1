import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { ApiError, type Versioned } from "../api/client.ts";
import { isOutdated, type OutdatedProps } from "../ui/outdated.tsx";
import { changesOf, rebase, type Draft, type Fault } from "./draft.ts";
import type { Field } from "./fields.ts";

export interface EditingOptions<Thing> {
  /** What the form begins with; undefined for a new one. */
  opened: Versioned<Thing> | undefined;
  /** What a new one begins with. */
  preset?: Draft;
  fields: readonly Field[];
  toDraft: (thing: Thing) => Draft;
  /** All of a new one; of one that there is, what was changed. */
  save: (body: Draft, etag: string | undefined) => Promise<Thing>;
  reload: () => Promise<Versioned<Thing>>;
  onSaved: (thing: Thing, changes: Draft) => void;
}

/** A version of what is edited, as the form has it. */
interface Edition {
  thing: Draft;
  etag: string | undefined;
}

export interface Editing {
  draft: Draft;
  setDraft: (draft: Draft) => void;
  /** What the gateway said is wrong, and with which field. */
  fault: Fault | undefined;
  error: Error | null;
  isBusy: boolean;
  submit: () => void;
  /** Both versions, after somebody else has saved first. */
  outdated: OutdatedProps<Edition> | undefined;
}

/** A form over something that others may change too: what is sent is what was changed here, on the version that was read. */
export function useEditing<Thing>(options: EditingOptions<Thing>): Editing {
  const { opened, fields, toDraft } = options;
  const [base, setBase] = useState<Edition>(() => ({
    thing: opened === undefined ? {} : toDraft(opened.thing),
    etag: opened?.etag,
  }));
  const [draft, setDraft] = useState<Draft>(opened === undefined ? (options.preset ?? {}) : base.thing);
  const changes = changesOf(base.thing, draft, fields);

  const save = useMutation<Thing>({
    mutationFn: () => options.save(opened === undefined ? draft : changes, base.etag),
    onSuccess: (thing) => options.onSaved(thing, changes),
  });
  const error = isOutdated(save.error) ? null : save.error;
  useEffect(() => {
    const fault = findFault(error);
    if (fault !== undefined) showField(fault.field);
  }, [error]);

  function goOn(now: Edition, next: Draft): void {
    setBase(now);
    setDraft(next);
    save.reset();
  }

  return {
    draft,
    setDraft,
    fault: findFault(error),
    error,
    isBusy: save.isPending,
    submit: () => save.mutate(),
    outdated: isOutdated(save.error)
      ? {
          yours: ({ thing }) => rebase(changes, draft, thing),
          async load() {
            const { thing, etag } = await options.reload();
            return { thing: toDraft(thing), etag };
          },
          onTakeTheirs: (now) => goOn(now, now.thing),
          onKeepYours: (now) => goOn(now, rebase(changes, draft, now.thing)),
        }
      : undefined,
  };
}

/** The field that the gateway complains of. */
export function findFault(error: Error | null): Fault | undefined {
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
