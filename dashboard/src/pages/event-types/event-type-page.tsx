import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useParams } from "wouter";
import { sendJson } from "../../api/client.ts";
import type { EventType } from "../../api/types.ts";
import { JsonDialog } from "../../editor/json-dialog.tsx";
import { PageHead } from "../../layout/shell.tsx";
import { useIsPartner } from "../../session/session.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { DeleteDialog } from "../../ui/delete-dialog.tsx";
import { Failure } from "../../ui/failure.tsx";
import { KeyValues } from "../../ui/key-values.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { RelativeTime } from "../../ui/time.tsx";
import { eventTypeQuery, pathOfEventType } from "./event-type-queries.ts";
import { toInputText } from "./event-type-text.ts";
import { useCanChangeTypes } from "./event-types-page.tsx";
import { TypeVersions } from "./type-versions.tsx";

export function EventTypePage() {
  const { name } = useParams<{ name: string }>();
  const client = useQueryClient();
  const { data, error, refetch } = useQuery(eventTypeQuery(name));
  const canChange = useCanChangeTypes();
  const isPartner = useIsPartner();
  const [isOpen, setOpen] = useState<"edit" | "delete">();
  const close = () => setOpen(undefined);
  if (error !== null && data === undefined) {
    return (
      <>
        <PageHead title="Event type" />
        <Failure error={error} onRetry={() => void refetch()} />
      </>
    );
  }
  if (data === undefined) return <Skeleton lines={8} />;
  const { thing: type } = data;
  return (
    <>
      <PageHead title={type.name}>
        {type.managed_by === "config" && !isPartner && <span className="muted small">Set in posthorn.yaml</span>}
        {canChange && type.managed_by !== "config" && (
          <>
            <Button kind="quiet" onClick={() => setOpen("delete")}>
              Delete
            </Button>
            <Button kind="primary" onClick={() => setOpen("edit")}>
              Edit
            </Button>
          </>
        )}
      </PageHead>
      <Facts type={type} />
      <TypeVersions name={type.name} answer={data.text} />
      {isOpen === "edit" && (
        <JsonDialog<EventType>
          title={`Edit ${type.name}`}
          action="Save"
          first={{ thing: toInputText(data.text), etag: data.etag }}
          save={(text, version) => sendJson("PUT", pathOfEventType(name), text, version)}
          load={async () => {
            const now = await client.fetchQuery(eventTypeQuery(name));
            return { thing: toInputText(now.text), etag: now.etag };
          }}
          changes={["event-types"]}
          says="The event type is updated."
          onClose={close}
        />
      )}
      {isOpen === "delete" && (
        <DeleteDialog
          name={name}
          run={() => sendJson("DELETE", pathOfEventType(name))}
          changes={["event-types"]}
          goTo="/event-types"
          onClose={close}
        >
          <p>Its schemas are deleted. Events of this type are still accepted, and no longer checked.</p>
        </DeleteDialog>
      )}
    </>
  );
}

function Facts({ type }: { type: EventType }) {
  const isAdmin = useCanChangeTypes();
  return (
    <section className="card facts" aria-label="Facts">
      {type.description !== null && <p>{type.description}</p>}
      <KeyValues
        rows={[
          ["Status", <Badge key="s" state={type.status} tone={type.status === "active" ? "good" : "waiting"} />],
          ["Deprecated", type.deprecated_at === null ? undefined : <RelativeTime key="d" at={type.deprecated_at} />],
          [
            "Replaced by",
            type.replaced_by && (
              <Link key="r" href={`/event-types/${encodeURIComponent(type.replaced_by)}`}>
                {type.replaced_by}
              </Link>
            ),
          ],
          ["Producer", type.producer],
          ["Consumers", type.consumers.join(", ")],
          ["Events that do not fit", type.enforce ? "are rejected" : "are accepted, and the mismatch is recorded"],
          ["Masked", type.mask.length === 0 ? undefined : <code key="m">{type.mask.join(", ")}</code>],
          ["Changed", <RelativeTime key="u" at={type.updated_at} />],
          [
            "See also",
            <span key="l" className="alert-head">
              <Link href={`/events?event_type=${encodeURIComponent(type.name)}`}>Events of this type</Link>
              {isAdmin && <Link href={`/audit?kind=event_type&id=${encodeURIComponent(type.name)}`}>History</Link>}
            </span>,
          ],
        ]}
      />
    </section>
  );
}
