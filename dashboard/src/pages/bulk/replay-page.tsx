import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useParams } from "wouter";
import { sendJson } from "../../api/client.ts";
import { isUnderWay, replayQuery } from "../../api/replay-queries.ts";
import type { Replay } from "../../api/types.ts";
import { PageHead } from "../../layout/shell.tsx";
import { useCanChange } from "../../session/session.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { Failure } from "../../ui/failure.tsx";
import { KeyValues } from "../../ui/key-values.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Skeleton } from "../../ui/skeleton.tsx";
import { AbsoluteTime, RelativeTime } from "../../ui/time.tsx";
import { useToast } from "../../ui/toasts.tsx";
import { FilterWords } from "./filter-words.tsx";
import { Progress, Results } from "./progress.tsx";
import { KINDS } from "./words.ts";

export function ReplayPage() {
  const { id } = useParams<{ id: string }>();
  const { data: replay, error, refetch } = useQuery(replayQuery(id));
  if (error !== null) {
    return (
      <>
        <PageHead title="Replay" />
        <Failure error={error} onRetry={() => void refetch()} />
      </>
    );
  }
  if (replay === undefined) return <Skeleton lines={8} />;
  return (
    <>
      <PageHead title={KINDS[replay.kind]}>
        <Actions replay={replay} />
      </PageHead>
      <section className="card" aria-labelledby="progress-head">
        <div className="card-head">
          <h2 id="progress-head">Progress</h2>
          <span role="status">
            <Badge state={replay.status} />
          </span>
        </div>
        <Progress replay={replay} />
        <Results replay={replay} />
        {replay.error !== null && <p className="error-text">{replay.error}</p>}
        <Figures replay={replay} />
      </section>
      <section className="card" aria-labelledby="filter-head">
        <h2 id="filter-head">What it is about</h2>
        <FilterWords filter={replay.filter} canLeave />
      </section>
    </>
  );
}

function Figures({ replay }: { replay: Replay }) {
  const { completed_at: completedAt } = replay;
  return (
    <KeyValues
      rows={[
        ["Skipped", replay.skipped > 0 && `${formatCount(replay.skipped)}, changed by somebody else meanwhile`],
        ["Failed", replay.failed > 0 && `${formatCount(replay.failed)}, their subscription is gone`],
        [
          "Started",
          <span key="s">
            <AbsoluteTime at={replay.started_at} />{" "}
            <span className="muted">
              (<RelativeTime at={replay.started_at} />)
            </span>
          </span>,
        ],
        ["Ended", completedAt && <AbsoluteTime key="e" at={completedAt} />],
        [
          "Id",
          <span key="i" className="with-copy">
            <code>{replay.id}</code>
            <CopyButton text={replay.id} />
          </span>,
        ],
      ]}
    />
  );
}

function Actions({ replay }: { replay: Replay }) {
  const canChange = useCanChange();
  const client = useQueryClient();
  const toast = useToast();
  const [isAsking, setAsking] = useState(false);
  const action = useMutation({
    mutationFn: (name: "pause" | "resume" | "cancel") =>
      sendJson<Replay>("POST", `/api/v1/replays/${encodeURIComponent(replay.id)}/${name}`),
    onSuccess: (changed) => client.setQueryData(replayQuery(replay.id).queryKey, changed),
    onError: toast.fail,
    async onSettled() {
      setAsking(false);
      await client.invalidateQueries({ queryKey: ["replays"] });
    },
  });
  if (!canChange || !isUnderWay(replay)) return null;
  return (
    <>
      <Button onClick={() => setAsking(true)}>Cancel job</Button>
      {replay.status === "running" ? (
        <Button isBusy={action.isPending} onClick={() => action.mutate("pause")}>
          Pause
        </Button>
      ) : (
        <Button kind="primary" isBusy={action.isPending} onClick={() => action.mutate("resume")}>
          Resume
        </Button>
      )}
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title="Cancel this job?"
        action="Cancel the job"
        isBusy={action.isPending}
        onConfirm={() => action.mutate("cancel")}
      >
        <p>What it has done stays done. It cannot be resumed; start a new one for the rest.</p>
      </ConfirmDialog>
    </>
  );
}
