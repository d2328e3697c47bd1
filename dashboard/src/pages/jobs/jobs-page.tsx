import { queryOptions, useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { getJson, sendJson } from "../../api/client.ts";
import type { Job } from "../../api/types.ts";
import { PageHead } from "../../layout/shell.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Failure } from "../../ui/failure.tsx";
import { formatMs } from "../../ui/numbers.ts";
import { Skeleton } from "../../ui/skeleton.tsx";
import { AbsoluteTime, formatSpan, RelativeTime, useNow } from "../../ui/time.tsx";
import { useAction } from "../../ui/use-action.ts";

const REFETCH_MS = 3_000;

const jobsQuery = queryOptions({
  queryKey: ["jobs"],
  queryFn: ({ signal }) => getJson<{ data: Job[] }>("/api/v1/jobs", {}, signal),
  refetchInterval: REFETCH_MS,
});

export function JobsPage() {
  const { data, error, refetch } = useQuery(jobsQuery);
  return (
    <>
      <PageHead title="Jobs">
        <Link className="button button-plain" href="/bulk">
          Replays
        </Link>
      </PageHead>
      {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton lines={8} />}
      {data !== undefined && (
        <section className="card list" aria-label="Jobs">
          {data.data.map((job) => (
            <JobRow key={job.name} job={job} />
          ))}
        </section>
      )}
    </>
  );
}

function JobRow({ job }: { job: Job }) {
  const run = useAction({
    run: () => sendJson("POST", `/api/v1/jobs/${encodeURIComponent(job.name)}/run`),
    changes: ["jobs"],
    says: `${job.name} runs now.`,
  });
  const [last] = job.runs;
  return (
    <section className="job" aria-label={job.name}>
      <div className="job-head">
        <div>
          <h2 className="job-name">{job.name}</h2>
          <p className="muted small">{job.description}</p>
        </div>
        <div className="page-actions">
          {job.status === "running" && <Badge state="running" tone="waiting" />}
          <Button isBusy={run.isPending || job.status === "running"} onClick={() => run.mutate()}>
            <span>
              Run<span className="visually-hidden"> {job.name}</span> now
            </span>
          </Button>
        </div>
      </div>
      <p className="small">
        Every {formatSpan(job.every_s * 1000)} · <NextRun at={job.next_run_at} />
        {last === undefined ? (
          " · has not run yet"
        ) : (
          <>
            {" "}
            · last <RelativeTime at={last.started_at} /> <Badge state={last.result} />
          </>
        )}
      </p>
      {last?.result === "failed" && last.error !== null && <p className="error-text small">{last.error}</p>}
      {job.runs.length > 0 && (
        <details>
          <summary className="small">Last runs ({job.runs.length})</summary>
          <DataTable rows={job.runs} keyOf={({ number }) => number} columns={RUN_COLUMNS} />
        </details>
      )}
    </section>
  );
}

function NextRun({ at }: { at: string | null }) {
  const now = useNow();
  if (at === null) return <>no next run</>;
  const span = formatSpan(Math.max(0, Date.parse(at) - now));
  return (
    <>
      next{" "}
      <time dateTime={at} title={at}>
        {span === "now" ? "now" : `in ${span}`}
      </time>
    </>
  );
}

const RUN_COLUMNS: readonly Column<Job["runs"][number]>[] = [
  { title: "Run", isNumber: true, cell: ({ number }) => number },
  { title: "Started", cell: ({ started_at: at }) => <AbsoluteTime at={at} /> },
  { title: "By", cell: ({ trigger }) => trigger },
  { title: "Result", cell: ({ result }) => <Badge state={result} /> },
  { title: "Took", isNumber: true, cell: ({ duration_ms: ms }) => formatMs(ms) },
  {
    title: "What it did",
    cell: ({ error, summary }) =>
      error ?? (summary === null ? "–" : <code className="small">{JSON.stringify(summary)}</code>),
  },
];
