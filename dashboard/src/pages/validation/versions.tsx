import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import type { ValidationVersion } from "../../api/types.ts";
import { useView } from "../../layout/use-view.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { Diff } from "../../ui/diff.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Failure } from "../../ui/failure.tsx";
import { PagedList } from "../../ui/paged-list.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { RelativeTime } from "../../ui/time.tsx";
import { useAction } from "../../ui/use-action.ts";
import { FORMAT_WORDS } from "./formats.ts";
import { rollBack, versionQuery, versionsQuery } from "./validation-queries.ts";

/** Every version that there ever was, what each one changed, and the way back to it. */
export function Versions({ endpoint }: { endpoint: string }) {
  const view = useView();
  const query = useInfiniteQuery(versionsQuery(endpoint));
  const [wanted, setWanted] = useState<number>();
  const shown = Number(view.get("version") ?? Number.NaN);
  return (
    <PagedList
      query={query}
      noun="version"
      empty={<EmptyState title="There are no versions yet">Write one under Edit.</EmptyState>}
    >
      {(versions) => (
        <>
          <section className="card" aria-label="Versions">
            <ul className="rows">
              {versions.map((row) => (
                <VersionRow
                  key={row.version}
                  row={row}
                  isShown={row.version === shown}
                  onShow={() => view.set({ version: row.version === shown ? undefined : String(row.version) })}
                  onRollBack={() => setWanted(row.version)}
                >
                  <Changes endpoint={endpoint} row={row} before={findBefore(versions, row)} />
                </VersionRow>
              ))}
            </ul>
          </section>
          <RollBackDialog endpoint={endpoint} version={wanted} onClose={() => setWanted(undefined)} />
        </>
      )}
    </PagedList>
  );
}

/** The latest of the same format that had a document. */
function findBefore(versions: readonly ValidationVersion[], { version, format }: ValidationVersion) {
  return versions.find((other) => other.version < version && other.format === format && !other.deleted);
}

function VersionRow(props: {
  row: ValidationVersion;
  isShown: boolean;
  onShow: () => void;
  onRollBack: () => void;
  children: ReactNode;
}) {
  const { row, isShown, onShow, onRollBack, children } = props;
  return (
    <li>
      <div className="card-head">
        <p className="alert-head">
          <strong>Version {row.version}</strong>
          {row.in_force && <Badge state="active">in force</Badge>}
          {row.deleted && <Badge state="deleted" />}
          <span className="muted small">
            {FORMAT_WORDS[row.format]} · <RelativeTime at={row.created_at} /> by {row.created_by}
            {row.restored_from !== null && ` · brought back version ${row.restored_from}`}
          </span>
        </p>
        {!row.deleted && (
          <div className="page-actions">
            <Button kind="quiet" aria-expanded={isShown} onClick={onShow}>
              <span>
                Changes<span className="visually-hidden"> of version {row.version}</span>
              </span>
            </Button>
            {!row.in_force && (
              <Button onClick={onRollBack}>
                <span>
                  Roll back<span className="visually-hidden"> to version {row.version}</span>
                </span>
              </Button>
            )}
          </div>
        )}
      </div>
      {isShown && children}
    </li>
  );
}

function Changes(props: { endpoint: string; row: ValidationVersion; before: ValidationVersion | undefined }) {
  const { endpoint, row, before } = props;
  const after = useQuery(versionQuery(endpoint, row.version));
  const former = useQuery({ ...versionQuery(endpoint, before?.version ?? row.version), enabled: before !== undefined });
  const error = after.error ?? former.error;
  if (error !== null) return <Failure error={error} />;
  if (after.data === undefined || (before !== undefined && former.data === undefined)) return <Skeleton />;
  return (
    <>
      <p className="muted small">{before === undefined ? "The first one." : `Against version ${before.version}:`}</p>
      <Diff
        before={before === undefined ? "" : (former.data?.thing ?? "")}
        after={after.data.thing}
        label={`Changes of version ${row.version}`}
      />
    </>
  );
}

function RollBackDialog(props: { endpoint: string; version: number | undefined; onClose: () => void }) {
  const { endpoint, version, onClose } = props;
  const back = useAction({
    run: (wanted: number) => rollBack(endpoint, wanted),
    changes: ["validations"],
    says: (made, wanted) => `Version ${wanted} is in force again, as version ${made.version}.`,
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      isOpen={version !== undefined}
      onClose={onClose}
      title={`Roll back to version ${version ?? ""}?`}
      action="Roll back"
      onConfirm={() => version !== undefined && back.mutate(version)}
      isBusy={back.isPending}
    >
      <p>
        Webhooks to {endpoint} are checked by version {version} from now on. It becomes a new version, and the present
        one stays in the list.
      </p>
    </ConfirmDialog>
  );
}
