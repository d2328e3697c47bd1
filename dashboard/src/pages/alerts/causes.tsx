import { Link } from "wouter";
import type { Alert } from "../../api/types.ts";
import { Button } from "../../ui/button.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { formatValue, hrefOfCause } from "./alert-values.ts";

export function Causes({ alert, onMute }: { alert: Alert; onMute: ((cause: string) => void) | undefined }) {
  const rest = alert.count - alert.causes.length;
  return (
    <section className="card" aria-labelledby="causes-head">
      <h2 id="causes-head">Causes</h2>
      {alert.causes.length === 0 && <p className="muted">None any more.</p>}
      {alert.causes.length > 0 && (
        <DataTable
          rows={alert.causes}
          keyOf={({ cause }) => cause}
          columns={[
            { title: "Name", cell: (row) => <CauseName {...row} /> },
            { title: "Detail", cell: ({ detail }) => detail ?? "–" },
            { title: "Value", isNumber: true, cell: ({ value }) => formatValue(value, alert.unit) },
          ]}
          actions={
            onMute &&
            (({ cause, name }) => (
              <Button kind="quiet" aria-label={`Mute ${name}`} onClick={() => onMute(cause)}>
                Mute
              </Button>
            ))
          }
        />
      )}
      {rest > 0 && <p className="muted small">And {rest} more.</p>}
    </section>
  );
}

function CauseName({ cause, name, tenant_id: tenantId }: Alert["causes"][number]) {
  const href = hrefOfCause(cause);
  return (
    <>
      {href === undefined ? name : <Link href={href}>{name}</Link>}
      {tenantId !== null && <span className="muted small"> {tenantId}</span>}
    </>
  );
}
