import { useQueryClient } from "@tanstack/react-query";
import { isJson, TextEditing } from "../../editor/text-editing.tsx";
import { useEditedText } from "../../editor/use-edited-text.ts";
import { Button } from "../../ui/button.tsx";
import { FIRST_DOCUMENT, LANGUAGES } from "./formats.ts";
import { TryPayload } from "./try-payload.tsx";
import { documentQuery, putDocument, type Format, type LoadedDocument } from "./validation-queries.ts";

interface EditDocumentProps {
  endpoint: string;
  format: Format;
  /** Null where there is none yet. */
  stored: LoadedDocument | null;
  onSaved: () => void;
}

export function EditDocument({ endpoint, format, stored, onSaved }: EditDocumentProps) {
  const client = useQueryClient();
  const edited = useEditedText({
    first: stored ?? { thing: FIRST_DOCUMENT[format], etag: undefined },
    save: (text, etag) => putDocument(endpoint, format, text, etag),
    load: async () => (await client.fetchQuery(documentQuery(endpoint, format))) ?? { thing: "", etag: undefined },
    changes: ["validations"],
    says: "The validation is in force.",
    onDone: onSaved,
  });

  return (
    <>
      <section className="card" aria-labelledby="edit-head">
        <div className="card-head">
          <h2 id="edit-head">Edit</h2>
          <Button
            kind="primary"
            disabled={format === "json" && !isJson(edited.text)}
            isBusy={edited.isBusy}
            onClick={edited.submit}
          >
            Save
          </Button>
        </div>
        <TextEditing label="Document" language={LANGUAGES[format]} edited={edited} />
      </section>
      <section className="card">
        <TryPayload endpoint={endpoint} format={format} draft={edited.text} />
      </section>
    </>
  );
}
