import { queryOptions, useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { Link } from "wouter";
import { sendJson } from "../api/client.ts";
import { eventQuery, subscriptionQuery } from "../api/queries.ts";
import type { Delivery, RequestPreview } from "../api/types.ts";
import { JsonView, PlainText } from "../json/json-view.tsx";
import { useCanChange } from "../session/session.tsx";
import { toBinary } from "../ui/body-card.tsx";
import { Button } from "../ui/button.tsx";
import { Failure } from "../ui/failure.tsx";
import { Skeleton } from "../ui/skeleton.tsx";
import { readBody } from "./event-body.ts";

/** Not kept: the answer is signed, and settings may change at any time. */
const previewQuery = ({ subscription_id: subscription, event_id: event }: Delivery) =>
  queryOptions({
    queryKey: ["request-preview", subscription, event],
    queryFn: () =>
      sendJson<RequestPreview>("POST", `/api/v1/subscriptions/${encodeURIComponent(subscription)}/preview`, {
        event_id: event,
      }),
    staleTime: 0,
    gcTime: 0,
  });

/** Method and body, which the gateway does not keep with each attempt: it makes them again from the event. */
export function SentRequest({ delivery }: { delivery: Delivery }) {
  const canChange = useCanChange();
  const event = <Link href={`/events/${encodeURIComponent(delivery.event_id)}`}>the event</Link>;
  return (
    <>
      <h3>Request body</h3>
      {delivery.subscription_name === null ? (
        <p className="muted small">Made from {event}. The subscription was deleted, so it cannot be made again.</p>
      ) : !canChange ? (
        <p className="muted small">Made from {event}. A key with the scope admin can have it made again.</p>
      ) : (
        <Again delivery={delivery} event={event} />
      )}
    </>
  );
}

function Again({ delivery, event }: { delivery: Delivery; event: ReactNode }) {
  const [isShown, setShown] = useState(false);
  const { data, error, refetch } = useQuery(subscriptionQuery(delivery.subscription_id));
  if (data === undefined) {
    return error === null ? <Skeleton lines={1} /> : <Failure error={error} onRetry={() => void refetch()} />;
  }
  if (!data.thing.can.use) {
    return <p className="muted small">Made from {event}. Only the operator can have it made again.</p>;
  }
  if (isShown) return <Rendered delivery={delivery} />;
  return (
    <p>
      <Button onClick={() => setShown(true)}>Show method and body</Button>
    </p>
  );
}

function Rendered({ delivery }: { delivery: Delivery }) {
  const { data, error, refetch } = useQuery(previewQuery(delivery));
  const { data: loaded } = useQuery(eventQuery(delivery.event_id));
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  if (data === undefined || loaded === undefined) return <Skeleton lines={2} />;
  const { bytes } = toBinary(data.body_base64);
  const isOwn = isSame(bytes, readBody(loaded.event, loaded.payloadText).bytes);
  return (
    <>
      <p className="small">
        <code>{data.method}</code>{" "}
        <span className="muted">
          {isOwn
            ? "with the event’s own body, byte for byte."
            : "with a body that the subscription makes of the event."}{" "}
          Rendered now from the event: if the subscription was changed since, something else was sent.
        </span>
      </p>
      <Content bytes={bytes} />
    </>
  );
}

function Content({ bytes }: { bytes: Uint8Array }) {
  if (bytes.length === 0) return <p className="muted small">The body is empty.</p>;
  const text = readText(bytes);
  if (text === undefined) return <p className="muted small">The body is no text.</p>;
  return /^\s*[[{]/.test(text) ? <JsonView text={text} /> : <PlainText text={text} />;
}

function readText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}
