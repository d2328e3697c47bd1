import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { sendJson } from "../../api/client.ts";
import { parkedMessageQuery, parkedQuery } from "../../api/source-queries.ts";
import type { ParkedMessage, Source } from "../../api/types.ts";
import { PlainText } from "../../json/json-view.tsx";
import { useView } from "../../layout/use-view.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Item, Items, LoadMore } from "../../ui/items.tsx";
import { KeyValues } from "../../ui/key-values.tsx";
import { formatBytes, formatCount } from "../../ui/numbers.ts";
import { Skeleton } from "../../ui/skeleton.tsx";
import { RelativeTime } from "../../ui/time.tsx";
import { useAction } from "../../ui/use-action.ts";
import { TextFilter } from "../../ui/view-filters.tsx";
import { PurgeParkedDialog } from "./purge-parked-dialog.tsx";

/** Messages that could not be accepted: they lie beside the queue until somebody puts them back or deletes them. */
export function ParkedCard({ source }: { source: Source }) {
  const view = useView();
  const reason = view.get("reason");
  const query = useInfiniteQuery(parkedQuery(source.name, reason));
  const [isPurging, setPurging] = useState(false);
  const messages = query.data?.pages.flatMap(({ data }) => data) ?? [];
  const count = query.data?.pages[0]?.count;
  const requeue = useAction({
    run: (selection: { ids?: readonly string[]; reason?: string }) =>
      sendJson<{ requeued: number; without_origin: number; complete: boolean }>(
        "POST",
        `/api/v1/sources/${encodeURIComponent(source.name)}/parked/requeue`,
        selection,
      ),
    changes: ["parked", "source-queues"],
    says: describeRequeued,
  });
  const selection = reason === undefined ? {} : { reason };
  return (
    <section className="card" aria-labelledby="parked-head">
      <div className="card-head">
        <h2 id="parked-head">
          Parked messages{count === undefined || count === null ? "" : ` (${formatCount(count)})`}
        </h2>
        {messages.length > 0 && (
          <div className="page-actions">
            <Button onClick={() => setPurging(true)}>Purge {reason === undefined ? "all" : "these"}</Button>
            <Button kind="primary" isBusy={requeue.isPending} onClick={() => requeue.mutate(selection)}>
              Requeue {reason === undefined ? "all" : "these"}
            </Button>
          </div>
        )}
      </div>
      <div className="filter-row">
        <TextFilter view={view} name="reason" label="Reason" placeholder="invalid" />
      </div>
      {query.error !== null && <Failure error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Skeleton />}
      {query.isSuccess && messages.length === 0 && (
        <p className="muted">
          {reason === undefined
            ? "None. A message that cannot be accepted is laid aside and appears here."
            : "No message was parked for this reason."}
        </p>
      )}
      <Items label="Parked messages">
        {messages.map((message) => (
          <Parked
            key={message.id}
            source={source}
            message={message}
            onRequeue={() => requeue.mutate({ ids: [message.id] })}
          />
        ))}
      </Items>
      <LoadMore {...query} />
      {isPurging && <PurgeParkedDialog source={source} reason={reason} onClose={() => setPurging(false)} />}
    </section>
  );
}

function describeRequeued(answer: { requeued: number; without_origin: number; complete: boolean }): string {
  const { requeued, without_origin: stay, complete } = answer;
  const back = `${requeued} ${requeued === 1 ? "message is" : "messages are"} in the queue again.`;
  const rest = stay === 0 ? "" : ` ${stay} stay, because nothing tells where they came from.`;
  return `${back}${rest}${complete ? "" : " There are more: requeue again."}`;
}

interface ParkedProps {
  source: Source;
  message: ParkedMessage;
  onRequeue: () => void;
}

function Parked({ source, message, onRequeue }: ParkedProps) {
  const [isOpen, setOpen] = useState(false);
  const [isPurging, setPurging] = useState(false);
  const title = message.message_id ?? message.id;
  return (
    <Item
      title={<span className="mono">{title}</span>}
      badges={<Badge state="failed">{message.reason ?? "no reason"}</Badge>}
      note={
        <>
          {message.description !== null && <span className="item-line">{message.description}</span>}
          {message.subject !== null && <span>{message.subject}</span>}
          <span>{formatBytes(message.size)}</span>
          {message.parked_at !== null && <RelativeTime at={message.parked_at} />}
        </>
      }
      actions={
        <>
          <Button aria-label={`Show ${title}`} onClick={() => setOpen(true)}>
            Show
          </Button>
          <Button aria-label={`Purge ${title}`} onClick={() => setPurging(true)}>
            Purge
          </Button>
          <Button aria-label={`Requeue ${title}`} onClick={onRequeue}>
            Requeue
          </Button>
          {isPurging && <PurgeParkedDialog source={source} ids={[message.id]} onClose={() => setPurging(false)} />}
          {isOpen && <MessageDialog source={source} id={message.id} onClose={() => setOpen(false)} />}
        </>
      }
    />
  );
}

function MessageDialog({ source, id, onClose }: { source: Source; id: string; onClose: () => void }) {
  const { data, error, refetch } = useQuery(parkedMessageQuery(source.name, id));
  return (
    <Dialog isOpen onClose={onClose} title="Parked message" isWide>
      {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton />}
      {data !== undefined && (
        <>
          <KeyValues
            rows={[
              ["Reason", data.reason],
              ["Description", data.description],
              ["Came from", data.queue],
              ["Content type", data.content_type],
              ...Object.entries(data.properties).map(([name, value]) => [name, JSON.stringify(value)] as const),
            ]}
          />
          <PlainText text={data.body ?? data.body_base64 ?? ""} />
        </>
      )}
    </Dialog>
  );
}
