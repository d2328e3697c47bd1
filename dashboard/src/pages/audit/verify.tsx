import { getJson } from "../../api/client.ts";
import type { AuditVerdict } from "../../api/types.ts";
import { Button } from "../../ui/button.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { useAction } from "../../ui/use-action.ts";

/** Whether the chain of hashes is whole, and the log as a file for somebody who checks it elsewhere. */
export function Verify() {
  const verify = useAction({
    run: () => getJson<AuditVerdict>("/api/v1/audit/verify"),
    changes: [],
    says: ({ valid, entries, first_wrong: fault }) =>
      valid
        ? `All ${formatCount(entries)} entries are as they were written.`
        : `Entry ${fault?.seq ?? "?"} is wrong: ${fault?.reason ?? "unknown"}`,
  });
  return (
    <>
      <a className="button button-quiet" href="/api/v1/audit/export" download="audit.ndjson">
        Export
      </a>
      <Button isBusy={verify.isPending} onClick={() => verify.mutate()}>
        Verify
      </Button>
    </>
  );
}
