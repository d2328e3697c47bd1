import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useParams } from "wouter";
import { PlainText } from "../../json/json-view.tsx";
import { PageHead } from "../../layout/shell.tsx";
import { useView } from "../../layout/use-view.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { DeleteDialog } from "../../ui/delete-dialog.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Segmented } from "../../ui/segmented.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { EditDocument } from "./edit-document.tsx";
import { FORMAT_WORDS, TABS, type Tab } from "./formats.ts";
import { TryPayload } from "./try-payload.tsx";
import { deleteDocument, documentQuery, type Format } from "./validation-queries.ts";
import { Versions } from "./versions.tsx";

export function ValidationPage() {
  const { endpoint } = useParams<{ endpoint: string }>();
  const view = useView();
  const format: Format = view.get("format") === "xsd" ? "xsd" : "json";
  const asked = view.get("show") ?? "document";
  const tab = asked in TABS ? (asked as Tab) : "document";
  const { data, error, refetch } = useQuery(documentQuery(endpoint, format));
  const [isDeleting, setDeleting] = useState(false);
  const show = (next: Tab) => view.set({ show: next === "document" ? undefined : next });

  return (
    <>
      <PageHead title={`Validation of ${endpoint}`}>
        {data !== undefined && data !== null && (
          <Button kind="quiet" onClick={() => setDeleting(true)}>
            Delete
          </Button>
        )}
        <Segmented
          label="Format"
          options={FORMAT_WORDS}
          value={format}
          onChange={(chosen) => view.set({ format: chosen === "json" ? undefined : chosen })}
        />
      </PageHead>
      <Segmented label="Show" options={TABS} value={tab} onChange={show} />
      {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton lines={8} />}
      {tab === "document" && data === null && (
        <section className="card">
          <EmptyState title={`${endpoint} has no ${FORMAT_WORDS[format]}`}>
            Write one under Edit, or bring an earlier one back under Versions.
          </EmptyState>
        </section>
      )}
      {tab === "document" && data !== undefined && data !== null && (
        <section className="card" aria-labelledby="document-head">
          <div className="card-head">
            <h2 id="document-head">In force</h2>
            <CopyButton text={data.thing} />
          </div>
          <PlainText text={data.thing} />
        </section>
      )}
      {tab === "edit" && data !== undefined && (
        <EditDocument key={format} endpoint={endpoint} format={format} stored={data} onSaved={() => show("document")} />
      )}
      {tab === "versions" && <Versions endpoint={endpoint} />}
      {tab === "try" && (
        <section className="card">
          <TryPayload key={format} endpoint={endpoint} format={format} />
        </section>
      )}
      {isDeleting && (
        <DeleteDialog
          name={`the ${FORMAT_WORDS[format]} of ${endpoint}`}
          run={() => deleteDocument(endpoint, format)}
          changes={["validations"]}
          goTo="/validation"
          onClose={() => setDeleting(false)}
        >
          <p>Webhooks to it are no longer checked by it. Its versions stay, so that it can be brought back.</p>
        </DeleteDialog>
      )}
    </>
  );
}
