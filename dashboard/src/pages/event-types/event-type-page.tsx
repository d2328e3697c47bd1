import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useLocation, useParams } from "wouter";
import { sendJson } from "../../api/client.ts";
import type { EventType } from "../../api/types.ts";
import { JsonDialog } from "../../editor/json-dialog.tsx";
import { JsonView } from "../../json/json-view.tsx";
import { PageHead } from "../../layout/shell.tsx";
import { useView } from "../../layout/use-view.ts";
import { useIsPartner } from "../../session/session.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { Command } from "../../ui/empty-state.tsx";
import { Failure } from "../../ui/failure.tsx";
import { KeyValues } from "../../ui/key-values.tsx";
import { Segmented } from "../../ui/segmented.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { RelativeTime } from "../../ui/time.tsx";
import { useAct } from "../../ui/use-act.ts";
import { eventTypeQuery, pathOfEventType } from "./event-type-queries.ts";
import { toInputText } from "./event-type-text.ts";
import { useCanChangeTypes } from "./event-types-page.tsx";

export function EventTypePage() {
  const { name } = useParams<{ name: string }>();
  const client = useQueryClient();
  const { data, error, refetch } = useQuery(eventTypeQuery(name));
  const canChange = useCanChangeTypes();
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
  const { thing: type, etag } = data;
  return (
    <>
      <PageHead title={type.name}>
        {type.managed_by === "config" && <span className="muted small">Set in posthorn.yaml</span>}
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
      <Versions type={type} />
      {isOpen === "edit" && (
        <JsonDialog<EventType>
          title={`Edit ${type.name}`}
          act="Save"
          initialText={toInputText(type)}
          etag={etag}
          save={(text, version) => sendJson("PUT", pathOfEventType(name), text, version)}
          load={async () => {
            const now = await client.fetchQuery(eventTypeQuery(name));
            return { thing: toInputText(now.thing), etag: now.etag };
          }}
          changes={["event-types"]}
          says="The event type is updated."
          onClose={close}
        />
      )}
      <DeleteTypeDialog name={name} isOpen={isOpen === "delete"} onClose={close} />
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

function Versions({ type }: { type: EventType }) {
  const view = useView();
  const isPartner = useIsPartner();
  const latest = type.versions.at(-1);
  const shown = type.versions.find(({ version }) => version === view.get("version")) ?? latest;
  if (shown === undefined || latest === undefined) {
    return (
      <section className="card" aria-labelledby="schema-head">
        <h2 id="schema-head">Schema</h2>
        <p className="muted">This event type has no schema: every payload is accepted.</p>
        {!isPartner && <Command text={toPublishCommand(type.name, {})} />}
      </section>
    );
  }
  const schema = JSON.stringify(shown.schema, undefined, 2);
  const hasExample = shown.example !== undefined && shown.example !== null;
  const example = hasExample ? JSON.stringify(shown.example, undefined, 2) : undefined;
  return (
    <>
      {type.versions.length > 1 && (
        <Segmented
          label="Version"
          options={Object.fromEntries(type.versions.map(({ version }) => [version, `v ${version}`]))}
          value={shown.version}
          onChange={(version) => view.set({ version: version === latest.version ? undefined : version })}
        />
      )}
      <div className="columns">
        <section className="card" aria-labelledby="schema-head">
          <div className="card-head">
            <h2 id="schema-head">Schema {shown.version}</h2>
            <CopyButton text={schema} />
          </div>
          <JsonView text={schema} />
        </section>
        <section className="card" aria-labelledby="example-head">
          <div className="card-head">
            <h2 id="example-head">Example</h2>
            {example !== undefined && <CopyButton text={example} />}
          </div>
          {example === undefined ? <p className="muted">There is none.</p> : <JsonView text={example} />}
          {!isPartner && (
            <>
              <p className="muted small">Publish it from a terminal:</p>
              <Command text={toPublishCommand(type.name, shown.example ?? {})} />
            </>
          )}
        </section>
      </div>
    </>
  );
}

function toPublishCommand(name: string, payload: unknown): string {
  const body = JSON.stringify({ event_type: name, payload }).replaceAll("'", "'\\''");
  return (
    `curl ${location.origin}/api/v1/events -H "authorization: Bearer $POSTHORN_API_KEY" ` +
    `-H 'content-type: application/json' -d '${body}'`
  );
}

function DeleteTypeDialog({ name, isOpen, onClose }: { name: string; isOpen: boolean; onClose: () => void }) {
  const [, navigate] = useLocation();
  const remove = useAct({
    run: () => sendJson("DELETE", pathOfEventType(name)),
    changes: ["event-types"],
    says: `${name} is deleted.`,
    onDone() {
      onClose();
      navigate("/event-types");
    },
  });
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Delete ${name}?`}
      act="Delete"
      onConfirm={() => remove.mutate()}
      isBusy={remove.isPending}
    >
      <p>Its schemas are deleted. Events of this type are still accepted, and no longer checked.</p>
    </ConfirmDialog>
  );
}
