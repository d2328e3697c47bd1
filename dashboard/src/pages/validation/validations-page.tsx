import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import type { Validation } from "../../api/types.ts";
import { PageHead } from "../../layout/shell.tsx";
import { SEARCH_ID } from "../../layout/shortcuts.tsx";
import { useView } from "../../layout/use-view.ts";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ChoiceField, TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { formatBytes } from "../../ui/numbers.ts";
import { PagedList } from "../../ui/paged-list.tsx";
import { RelativeTime } from "../../ui/time.tsx";
import { TextFilter } from "../../ui/view-filters.tsx";
import { FORMAT_WORDS, hrefOf } from "./formats.ts";
import { validationsQuery, type Format } from "./validation-queries.ts";

export function ValidationsPage() {
  const view = useView();
  const query = useInfiniteQuery(validationsQuery());
  const [isCreating, setCreating] = useState(false);
  const search = view.get("search")?.toLowerCase() ?? "";
  return (
    <>
      <PageHead title="Validations">
        <Button kind="primary" onClick={() => setCreating(true)}>
          Create validation
        </Button>
      </PageHead>
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <div className="filter-row">
          <TextFilter view={view} name="search" label="Search" id={SEARCH_ID} placeholder="Endpoint  ( / )" />
        </div>
      </form>
      <PagedList query={query} empty={<NoValidations />}>
        {(validations) => <ValidationTable rows={validations.filter(({ endpoint }) => endpoint.includes(search))} />}
      </PagedList>
      {isCreating && <CreateDialog onClose={() => setCreating(false)} />}
    </>
  );
}

function NoValidations() {
  const command =
    `curl -X PUT ${location.origin}/validations/orders -H "authorization: Bearer $POSTHORN_API_KEY" ` +
    `-H 'content-type: application/json' -d '{"type":"object","required":["id"]}'`;
  return (
    <EmptyState title="There are no validations yet" command={command}>
      A validation says what webhooks to an endpoint must be like. Webhooks that do not pass get 422.
    </EmptyState>
  );
}

function ValidationTable({ rows }: { rows: readonly Validation[] }) {
  if (rows.length === 0) return <EmptyState title="No validation matches">Change the search.</EmptyState>;
  return (
    <section className="card" aria-label="Validations">
      <table className="table table-stack">
        <thead>
          <tr>
            <th scope="col">Endpoint</th>
            <th scope="col">Format</th>
            <th scope="col" className="number">
              Version
            </th>
            <th scope="col" className="number">
              Size
            </th>
            <th scope="col">Changed</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ endpoint, format, version, size, created_at: at, created_by: by }) => (
            <tr key={endpoint + format}>
              <td>
                <Link href={hrefOf(endpoint, format)}>{endpoint}</Link>
              </td>
              <td data-label="Format">{FORMAT_WORDS[format]}</td>
              <td className="number" data-label="Version">
                {version}
              </td>
              <td className="number" data-label="Size">
                {formatBytes(size)}
              </td>
              <td data-label="Changed">
                <span>
                  <RelativeTime at={at} /> <span className="muted small">by {by}</span>
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function CreateDialog({ onClose }: { onClose: () => void }) {
  const [, navigate] = useLocation();
  const [endpoint, setEndpoint] = useState("");
  const [format, setFormat] = useState<Format>("json");
  return (
    <FormDialog
      title="Create validation"
      act="Continue"
      onClose={onClose}
      onSubmit={() => navigate(hrefOf(endpoint.trim(), format, "edit"))}
      isBusy={false}
      canSubmit={/^[a-z0-9][a-z0-9_-]{0,63}$/.test(endpoint.trim())}
    >
      <TextField
        label="Endpoint"
        value={endpoint}
        onChange={setEndpoint}
        placeholder="orders"
        hint="The last part of /webhook/orders, or default for all that have none. Small letters, digits, _ and -."
      />
      <ChoiceField label="Format" options={FORMAT_WORDS} value={format} onChange={setFormat} />
    </FormDialog>
  );
}
