import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { sendJson } from "../../api/client.ts";
import { isNotConfigured, smartsheetQuery } from "../../api/source-queries.ts";
import type { SmartsheetCleanup, SmartsheetRegistration, SmartsheetWebhooks, Source } from "../../api/types.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Item, Items } from "../../ui/items.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { RelativeTime } from "../../ui/time.tsx";
import { useToast } from "../../ui/toasts.tsx";
import { useAction } from "../../ui/use-action.ts";

/** The sheets of the manifest against the webhooks that Smartsheet has. */
export function SmartsheetCard({ source }: { source: Source }) {
  const { data, error, refetch } = useQuery(smartsheetQuery(source.name));
  const toast = useToast();
  const [unneeded, setUnneeded] = useState<SmartsheetCleanup["webhooks"]>();
  const register = useAction({
    run: (sheetIds: readonly string[] | undefined) =>
      sendJson<SmartsheetRegistration>("POST", "/api/v1/smartsheet/webhooks/register", {
        source: source.name,
        ...(sheetIds !== undefined && { sheet_ids: sheetIds }),
      }),
    changes: ["smartsheet"],
    onDone: ({ sheets }) => {
      const failed = sheets.filter(({ outcome }) => outcome === "failed");
      if (failed[0] === undefined)
        toast.show(`${sheets.length} ${sheets.length === 1 ? "sheet is" : "sheets are"} registered.`);
      else
        toast.fail(new Error(`${failed.length} of ${sheets.length} failed: ${failed[0].error ?? "no reason given"}`));
    },
  });
  const look = useAction({
    run: () => cleanUp(source, true),
    changes: [],
    onDone: ({ webhooks }) => {
      const found = webhooks.filter(({ outcome }) => outcome === "would_remove");
      if (found.length === 0) toast.show("Every webhook is needed. There is nothing to clean up.");
      else setUnneeded(found);
    },
  });
  const remove = useAction({
    run: () => cleanUp(source, false),
    changes: ["smartsheet"],
    says: ({ webhooks }) => `${webhooks.filter(({ outcome }) => outcome === "removed").length} removed.`,
    onDone: () => setUnneeded(undefined),
  });
  const isConfigured = !isNotConfigured(error);
  return (
    <section className="card" aria-labelledby="smartsheet-head">
      <div className="card-head">
        <h2 id="smartsheet-head">Smartsheet webhooks</h2>
        {isConfigured && (
          <div className="page-actions">
            <Button isBusy={look.isPending} onClick={() => look.mutate(undefined)}>
              Clean up
            </Button>
            <Button kind="primary" isBusy={register.isPending} onClick={() => register.mutate(undefined)}>
              Register all sheets
            </Button>
          </div>
        )}
      </div>
      {error !== null && isConfigured && <Failure error={error} onRetry={() => void refetch()} />}
      {error !== null && !isConfigured && <p className="muted">{error.message}</p>}
      {data === undefined && error === null && <Skeleton />}
      {data !== undefined && <Sheets list={data} onRegister={(id) => register.mutate([id])} />}
      <ConfirmDialog
        isOpen={unneeded !== undefined}
        onClose={() => setUnneeded(undefined)}
        title="Remove webhooks at Smartsheet?"
        action={`Remove ${unneeded?.length ?? 0}`}
        isBusy={remove.isPending}
        onConfirm={() => remove.mutate(undefined)}
      >
        <p>These webhooks are not needed and will be removed at Smartsheet. Those of others stay.</p>
        <ul className="small mono">
          {unneeded?.map(({ webhook_id: id, sheet_id: sheet, state }) => (
            <li key={id}>
              {id}, sheet {sheet}: {state.replaceAll("_", " ")}
            </li>
          ))}
        </ul>
      </ConfirmDialog>
    </section>
  );
}

function cleanUp(source: Source, isDryRun: boolean): Promise<SmartsheetCleanup> {
  return sendJson("POST", "/api/v1/smartsheet/webhooks/cleanup", { source: source.name, dry_run: isDryRun });
}

type State = SmartsheetWebhooks["webhooks"][number]["state"];
const TONES: Partial<Record<State, Tone>> = { active: "good", disabled: "bad", foreign: "neutral" };

function Sheets({ list, onRegister }: { list: SmartsheetWebhooks; onRegister: (sheetId: string) => void }) {
  if (list.webhooks.length === 0 && list.missing.length === 0) {
    return <p className="muted">The manifest has no sheets, and Smartsheet has no webhooks.</p>;
  }
  return (
    <Items label="Sheets">
      {list.missing.map(({ sheet_id: id, sheet_name: name }) => (
        <Item
          key={`missing ${id}`}
          title={name}
          badges={<Badge state="rejected">not registered</Badge>}
          note={<span className="mono">{id}</span>}
          actions={
            <Button aria-label={`Register ${name}`} onClick={() => onRegister(id)}>
              Register
            </Button>
          }
        />
      ))}
      {list.webhooks.map((webhook) => (
        <Item
          key={webhook.webhook_id}
          title={webhook.sheet_name ?? webhook.name ?? webhook.sheet_id}
          badges={
            <Badge state={webhook.state} tone={TONES[webhook.state] ?? "waiting"}>
              {webhook.state.replaceAll("_", " ")}
            </Badge>
          }
          note={
            <>
              <span className="mono">{webhook.sheet_id}</span>
              {webhook.reason !== null && <span>{webhook.reason}</span>}
              {webhook.callback_url !== list.callback_url && <span className="mono">{webhook.callback_url}</span>}
              {webhook.last_callback_at !== null && (
                <span>
                  last callback <RelativeTime at={webhook.last_callback_at} />
                </span>
              )}
            </>
          }
        />
      ))}
    </Items>
  );
}
