import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import type { Validation } from "../../api/types.ts";
import { ListPage } from "../../layout/list-page.tsx";
import { useView } from "../../layout/use-view.ts";
import { apiCommand } from "../../ui/api-command.ts";
import { Button } from "../../ui/button.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { SearchFilter } from "../../ui/filters.tsx";
import { formatBytes } from "../../ui/numbers.ts";
import { hasText } from "../../ui/text-search.ts";
import { RelativeTime } from "../../ui/time.tsx";
import { CreateValidationDialog } from "./create-validation-dialog.tsx";
import { FORMAT_WORDS, hrefOf } from "./formats.ts";
import { validationsQuery } from "./validation-queries.ts";

const FILTERS = ["search"] as const;

export function ValidationsPage() {
  const view = useView();
  const query = useInfiniteQuery(validationsQuery());
  const [isCreating, setCreating] = useState(false);
  return (
    <>
      <ListPage
        title="Validations"
        noun="validation"
        actions={
          <Button kind="primary" onClick={() => setCreating(true)}>
            Create validation
          </Button>
        }
        view={view}
        filterNames={FILTERS}
        filters={<SearchFilter view={view} hint="Endpoint" />}
        query={query}
        isWanted={({ endpoint }) => hasText([endpoint], view.get("search"))}
        empty={
          <EmptyState
            title="There are no validations yet"
            command={apiCommand("/validations/orders", { type: "object", required: ["id"] }, "PUT")}
          >
            A validation says what webhooks to an endpoint must be like. Webhooks that do not pass get 422.
          </EmptyState>
        }
      >
        {(validations) => <ValidationTable rows={validations} />}
      </ListPage>
      {isCreating && <CreateValidationDialog onClose={() => setCreating(false)} />}
    </>
  );
}

function ValidationTable({ rows }: { rows: readonly Validation[] }) {
  return (
    <section className="card" aria-label="Validations">
      <DataTable
        rows={rows}
        keyOf={({ endpoint, format }) => endpoint + format}
        columns={[
          {
            title: "Endpoint",
            cell: ({ endpoint, format }) => <Link href={hrefOf(endpoint, format)}>{endpoint}</Link>,
          },
          { title: "Format", cell: ({ format }) => FORMAT_WORDS[format] },
          { title: "Version", isNumber: true, cell: ({ version }) => version },
          { title: "Size", isNumber: true, cell: ({ size }) => formatBytes(size) },
          {
            title: "Changed",
            cell: ({ created_at: at, created_by: by }) => (
              <>
                <RelativeTime at={at} /> <span className="muted small">by {by}</span>
              </>
            ),
          },
        ]}
      />
    </section>
  );
}
