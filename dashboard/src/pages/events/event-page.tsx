import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { Link, useParams } from "wouter";
import { eventQuery } from "../../api/queries.ts";
import type { EventWithDeliveries, StreamAttempt } from "../../api/types.ts";
import { useInvalidation } from "../../api/use-invalidation.ts";
import { useStream } from "../../api/use-stream.ts";
import { PageHead } from "../../layout/shell.tsx";
import { useCanChange, useIsPartner } from "../../session/session.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { HeaderList, KeyValues } from "../../ui/key-values.tsx";
import { formatBytes } from "../../ui/numbers.ts";
import { Skeleton } from "../../ui/skeleton.tsx";
import { AbsoluteTime, RelativeTime } from "../../ui/time.tsx";
import { BodyCard } from "../../ui/body-card.tsx";
import { readBody } from "../../deliveries/event-body.ts";
import { toCurl } from "./curl.ts";
import { DeliveryList } from "./delivery-list.tsx";
import { EditDialog } from "./edit-dialog.tsx";
import { EraseDialog } from "./erase-dialog.tsx";
import { ReplayDialog } from "./replay-dialog.tsx";

export function EventPage() {
  const { id } = useParams<{ id: string }>();
  const invalidate = useInvalidation();
  const { data, error, refetch } = useQuery(eventQuery(id));
  const canChange = useCanChange();
  const isPartner = useIsPartner();
  const [isOpen, setOpen] = useState<"replay" | "edit" | "erase">();
  useStream({ types: "attempt", event_type: data?.event.event_type }, ({ name, data: frame }) => {
    // What happened before the stream began is asked for once more.
    if (name === "ready" && data !== undefined) {
      invalidate(["event", id], ...data.event.deliveries.map((delivery) => ["delivery", delivery.id]));
    }
    if (name !== "attempt" || (frame as StreamAttempt).event_id !== id) return;
    invalidate(["event", id], ["delivery", (frame as StreamAttempt).id]);
  });

  const body = useMemo(() => data && readBody(data.event, data.payloadText), [data]);

  if (error !== null) {
    return (
      <>
        <PageHead title="Event" />
        <Failure error={error} onRetry={() => void refetch()} />
      </>
    );
  }
  if (data === undefined || body === undefined) return <Skeleton lines={10} />;
  const { event, payloadText } = data;
  const isErased = event.body_erased_at !== null;
  const canEdit = canChange && !isPartner && !isErased;
  // What is edited is sent as JSON: XML or text would become one long JSON string.
  const isEditable = body.kind === "json" || body.kind === "none";
  return (
    <>
      <PageHead title={event.event_type}>
        {!isPartner && <CopyButton label="Copy as curl" text={() => toCurl(event, payloadText, location.origin)} />}
        {canEdit && (
          <>
            <Button kind="quiet" onClick={() => setOpen("erase")}>
              Erase body
            </Button>
            {isEditable && <Button onClick={() => setOpen("edit")}>Edit and replay</Button>}
          </>
        )}
        {canChange && !isErased && (
          <Button kind="primary" onClick={() => setOpen("replay")}>
            Replay
          </Button>
        )}
      </PageHead>
      {canEdit && !isEditable && (
        <p className="muted">
          Only JSON can be edited here, and this body is {KINDS[body.kind]}. “Replay” sends it again as it is.
        </p>
      )}
      <Facts event={event} />
      <div className="columns columns-event">
        <BodyCard body={body} name={event.event_id} none={isErased ? "It was erased." : sayNone(event)} />
        <DeliveryList event={event} />
      </div>
      {event.headers !== undefined && (
        <section className="card" aria-labelledby="headers-head">
          <h2 id="headers-head">Request headers</h2>
          <HeaderList headers={event.headers} />
        </section>
      )}
      {isOpen === "replay" && <ReplayDialog event={event} onClose={() => setOpen(undefined)} />}
      <EraseDialog event={event} isOpen={isOpen === "erase"} onClose={() => setOpen(undefined)} />
      {isOpen === "edit" && <EditDialog event={event} payloadText={payloadText} onClose={() => setOpen(undefined)} />}
    </>
  );
}

function sayNone({ damage }: EventWithDeliveries): string {
  return damage === undefined ? "It has no body." : `It is left out, because ${damage}.`;
}

const KINDS = { json: "JSON", xml: "XML", text: "other text", binary: "no text", none: "empty" } as const;

function Facts({ event }: { event: EventWithDeliveries }) {
  const { request, schema_result: schema } = event;
  return (
    <section className="card facts" aria-label="Facts">
      <KeyValues
        rows={[
          ["Status", event.unmatched ? <Badge key="s" state="unmatched" /> : <Badge key="s" state={event.status} />],
          [
            "Id",
            <span key="i" className="with-copy">
              <code>{event.event_id}</code>
              <CopyButton text={event.event_id} />
            </span>,
          ],
          [
            "Received",
            <span key="r">
              <AbsoluteTime at={event.received_at} />{" "}
              <span className="muted">
                (<RelativeTime at={event.received_at} />)
              </span>
            </span>,
          ],
          ["Source", event.source],
          ["Tenant", event.tenant_id],
          ["Priority", event.priority],
          ["Ordering key", event.ordering_key],
          [
            "Request",
            request && (
              <code key="q">{`${request.method} ${request.path}${request.query === "" ? "" : `?${request.query}`}`}</code>
            ),
          ],
          ["Size", `${formatBytes(event.size)}${event.content_type === null ? "" : `, ${event.content_type}`}`],
          ["Metadata", event.metadata && <code key="m">{JSON.stringify(event.metadata)}</code>],
          [
            "Schema",
            schema && (
              <span key="c">
                <Badge state={schema.valid ? "ok" : "failed"}>{schema.valid ? "valid" : "invalid"}</Badge>{" "}
                {schema.errors?.map(({ path, message }) => `${path} ${message}`).join("; ")}
              </span>
            ),
          ],
          [
            "Edited from",
            event.replay_of && (
              <Link key="o" href={`/events/${encodeURIComponent(event.replay_of)}`}>
                {event.replay_of}
              </Link>
            ),
          ],
        ]}
      />
    </section>
  );
}
