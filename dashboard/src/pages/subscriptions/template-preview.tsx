import { useQuery } from "@tanstack/react-query";
import { sendJson } from "../../api/client.ts";
import type { TemplatePreview as Preview } from "../../api/types.ts";
import type { Draft } from "../../forms/draft.ts";
import { useSettled } from "../../forms/use-settled.ts";
import { PlainText } from "../../json/json-view.tsx";
import { Failure } from "../../ui/failure.tsx";

interface TemplatePreviewProps {
  kind: string;
  settings: Draft;
  events: readonly string[];
  /** What it is shown with; a made-up one when there is none. */
  eventId: string | undefined;
}

/** What the templates among the settings make of an event. */
export function TemplatePreview({ kind, settings, events, eventId }: TemplatePreviewProps) {
  const body = useSettled({
    kind,
    settings,
    ...(events.length > 0 && { events }),
    ...(eventId && { event_id: eventId }),
  });
  const isWritten =
    JSON.stringify(body.settings).includes("{{") || "preset" in body.settings || "template" in body.settings;
  const { data, error } = useQuery({
    queryKey: ["template-preview", body],
    queryFn: () => sendJson<Preview>("POST", "/api/v1/templates/preview", body),
    enabled: isWritten,
    placeholderData: (before) => before,
    retry: false,
  });
  if (!isWritten) return null;
  return (
    <section className="card" aria-labelledby="preview-head">
      <h2 id="preview-head">What is sent</h2>
      <p className="muted small">
        {eventId === undefined
          ? "With a made-up event: none of these types has come in yet."
          : "With the latest matching event."}
      </p>
      {error !== null && <Failure error={error} />}
      {error === null && data !== undefined && (
        <>
          {data.problems.map(({ field, message }) => (
            <p key={field + message} className="error-text small">
              <code>{field}</code> {message}
            </p>
          ))}
          {data.fault !== null && <p className="error-text small">It would be a dead letter: {data.fault}</p>}
          {data.rendered?.map(({ name, text }) => (
            <div key={name}>
              <p className="field-about">
                <code>{name}</code>
              </p>
              <PlainText text={text} />
            </div>
          ))}
        </>
      )}
    </section>
  );
}
