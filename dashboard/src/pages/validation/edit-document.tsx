import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError } from "../../api/client.ts";
import { faultOfMessage, type Fault } from "../../editor/faults.ts";
import { FaultList, isJson } from "../../editor/json-dialog.tsx";
import { LazyCodeEditor } from "../../editor/lazy-code-editor.tsx";
import { Button } from "../../ui/button.tsx";
import { Outdated } from "../../ui/outdated.tsx";
import { useAct } from "../../ui/use-act.ts";
import { LANGUAGES } from "./formats.ts";
import { TryPayload } from "./try-payload.tsx";
import { documentQuery, putDocument, type Format, type LoadedDocument } from "./validation-queries.ts";

interface EditDocumentProps {
  endpoint: string;
  format: Format;
  stored: LoadedDocument;
  onSaved: () => void;
}

export function EditDocument({ endpoint, format, stored, onSaved }: EditDocumentProps) {
  const client = useQueryClient();
  const [base, setBase] = useState({ ...stored, number: 0 });
  const [text, setText] = useState(stored.thing);
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const save = useAct({
    run: () => putDocument(endpoint, format, text, base.etag),
    changes: ["validations"],
    says: "The validation is in force.",
    onDone: onSaved,
    isFailureShown(error) {
      if (!(error instanceof ApiError && error.isOutdated)) setFaults([faultOfMessage(error.message)]);
      return true;
    },
  });
  const isOutdated = save.error instanceof ApiError && save.error.isOutdated;

  return (
    <>
      <section className="card" aria-labelledby="edit-head">
        <div className="card-head">
          <h2 id="edit-head">Edit</h2>
          <Button
            kind="primary"
            disabled={format === "json" && !isJson(text)}
            isBusy={save.isPending}
            onClick={() => save.mutate()}
          >
            Save
          </Button>
        </div>
        {isOutdated && (
          <Outdated
            yours={text}
            load={async () =>
              (await client.fetchQuery(documentQuery(endpoint, format))) ?? { thing: "", etag: undefined }
            }
            onTakeTheirs={(now) => {
              setBase({ ...now, number: base.number + 1 });
              setText(now.thing);
              save.reset();
            }}
            onKeepYours={({ etag }) => {
              setBase({ ...base, etag });
              save.reset();
            }}
          />
        )}
        <LazyCodeEditor
          key={base.number}
          label="Document"
          language={LANGUAGES[format]}
          initialText={base.thing}
          onChange={(typed) => {
            setText(typed);
            setFaults([]);
          }}
          faults={faults}
        />
        <FaultList faults={faults} />
      </section>
      <section className="card">
        <TryPayload endpoint={endpoint} format={format} draft={text} />
      </section>
    </>
  );
}
