import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link, useParams } from "wouter";
import { sendJson } from "../../api/client.ts";
import { requestQuery } from "../../api/request-queries.ts";
import { sourcesQuery } from "../../api/source-queries.ts";
import type { ReplayedRequest, RequestWithBody } from "../../api/types.ts";
import { PageHead } from "../../layout/shell.tsx";
import { useCanChange } from "../../session/session.tsx";
import { Badge } from "../../ui/badge.tsx";
import { BodyCard, toBody } from "../../ui/body-card.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { InlineCode } from "../../ui/inline-code.tsx";
import { HeaderList, KeyValues } from "../../ui/key-values.tsx";
import { formatBytes } from "../../ui/numbers.ts";
import { Skeleton } from "../../ui/skeleton.tsx";
import { AbsoluteTime, RelativeTime } from "../../ui/time.tsx";
import { useToast } from "../../ui/toasts.tsx";
import { requestToCurl } from "../events/curl.ts";
import { canHelpToReplay, explain, nextStep } from "./causes.ts";

export function RequestPage() {
  const { id } = useParams<{ id: string }>();
  const { data: request, error, refetch } = useQuery(requestQuery(id));
  if (error !== null) {
    return (
      <>
        <PageHead title="Request" />
        <Failure error={error} onRetry={() => void refetch()} />
      </>
    );
  }
  return request === undefined ? <Skeleton lines={10} /> : <Shown request={request} />;
}

function Shown({ request }: { request: RequestWithBody }) {
  const contentType = String(request.headers["content-type"] ?? "");
  const body = useMemo(() => toBody(request, contentType), [request, contentType]);
  const explanation = explain(request);
  const isKept = request.body !== undefined || request.body_base64 !== undefined;
  const none = request.outcome === "accepted" ? "The body is with its event." : describeNone(isKept);
  return (
    <>
      <PageHead title={`Request to ${request.source}`}>
        <CopyButton label="Copy as curl" text={() => requestToCurl(request, body, location.origin)} />
        <ReplayButton request={request} isKept={isKept} />
      </PageHead>
      {explanation !== undefined && (
        <section className="card advice" aria-labelledby="cause-head">
          <div className="card-head">
            <h2 id="cause-head">{explanation.title}</h2>
            <Badge state={request.outcome} />
          </div>
          <p>
            <InlineCode text={explanation.advice} /> {request.replayed_at === null && nextStep(request.cause, isKept)}
          </p>
          {request.replayed_at !== null && <Replayed request={request} at={request.replayed_at} />}
        </section>
      )}
      <Facts request={request} />
      <div className="columns columns-event">
        <BodyCard body={body} name={request.id} none={none} />
        <section className="card" aria-labelledby="headers-head">
          <h2 id="headers-head">Headers</h2>
          <HeaderList headers={request.headers} />
        </section>
      </div>
    </>
  );
}

/** Many requests are rejected before their body is read. */
function describeNone(isKept: boolean): string {
  return isKept ? "The request has no body." : "The body was not read, or not kept.";
}

function Replayed({ request, at }: { request: RequestWithBody; at: string }) {
  return (
    <p>
      Replayed <RelativeTime at={at} />
      {request.replay_event_ids.length > 0 && " as "}
      {request.replay_event_ids.map((id) => (
        <Link key={id} href={`/events/${encodeURIComponent(id)}`}>
          {id}{" "}
        </Link>
      ))}
    </p>
  );
}

/** After a fix: the stored bytes are taken in again, and who sent them is not asked. Works once. */
function ReplayButton({ request, isKept }: { request: RequestWithBody; isKept: boolean }) {
  const canChange = useCanChange();
  const client = useQueryClient();
  const toast = useToast();
  const replay = useMutation({
    mutationFn: () => sendJson<ReplayedRequest>("POST", `/api/v1/requests/${encodeURIComponent(request.id)}/replay`),
    async onSuccess({ result }) {
      if (result.outcome === "accepted") toast.show("The request is accepted now.");
      else toast.show(`The request is still ignored: ${explain(result)?.title ?? "the cause is not known"}.`);
      await Promise.all([
        client.invalidateQueries({ queryKey: ["request", request.id] }),
        client.invalidateQueries({ queryKey: ["requests"] }),
      ]);
    },
    onError: toast.fail,
  });
  const isOver = request.outcome === "accepted" || request.replayed_at !== null;
  if (!canChange || !isKept || isOver || !canHelpToReplay(request.cause)) return null;
  return (
    <Button kind="primary" isBusy={replay.isPending} onClick={() => replay.mutate()}>
      Replay
    </Button>
  );
}

/** A source that nobody has declared, or that was deleted, has no page; its events may be there all the same. */
function SourceLink({ name }: { name: string }) {
  const { data } = useInfiniteQuery(sourcesQuery({}));
  const isDeclared = data?.pages.some((page) => page.data.some((source) => source.name === name));
  if (isDeclared === true) return <Link href={`/sources/${encodeURIComponent(name)}`}>{name}</Link>;
  return (
    <>
      {name} <Link href={`/events?source=${encodeURIComponent(name)}`}>its events</Link>
    </>
  );
}

function Facts({ request }: { request: RequestWithBody }) {
  const { method, path, query } = request;
  return (
    <section className="card facts" aria-label="Facts">
      <KeyValues
        rows={[
          ["Outcome", <Badge key="o" state={request.outcome} />],
          ["Cause", request.cause && <code key="c">{request.cause}</code>],
          [
            "Received",
            <span key="r">
              <AbsoluteTime at={request.received_at} />{" "}
              <span className="muted">
                (<RelativeTime at={request.received_at} />)
              </span>
            </span>,
          ],
          ["Request", <code key="q">{`${method} ${path}${query === "" ? "" : `?${query}`}`}</code>],
          ["Source", <SourceLink key="s" name={request.source} />],
          ["From", request.remote_address],
          ["Size", formatBytes(request.size)],
          [
            "Id",
            <span key="i" className="with-copy">
              <code>{request.id}</code>
              <CopyButton text={request.id} />
            </span>,
          ],
          ["Events", request.events.length > 0 && <Events key="e" request={request} />],
        ]}
      />
    </section>
  );
}

function Events({ request }: { request: RequestWithBody }) {
  return (
    <ul>
      {request.events.map(({ event_id: id, outcome, cause }, index) => (
        <li key={id ?? index}>
          {id === null ? "none" : <Link href={`/events/${encodeURIComponent(id)}`}>{id}</Link>}{" "}
          <Badge state={outcome}>{cause ?? outcome}</Badge>
        </li>
      ))}
    </ul>
  );
}
