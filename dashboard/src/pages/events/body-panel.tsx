import { useMemo } from "react";
import type { EventWithDeliveries } from "../../api/types.ts";
import { BodyCard } from "../../ui/body-card.tsx";
import { readBody } from "./body.ts";

export function BodyPanel({ event, payloadText }: { event: EventWithDeliveries; payloadText: string | undefined }) {
  const body = useMemo(() => readBody(event, payloadText), [event, payloadText]);
  const none = event.body_erased_at === null ? "It has no body." : "It was erased.";
  return <BodyCard body={body} name={event.event_id} none={none} />;
}
