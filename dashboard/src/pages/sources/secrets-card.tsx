import { useState } from "react";
import { sendJson } from "../../api/client.ts";
import type { Source, SourceWithSecret } from "../../api/types.ts";
import { useCanChange } from "../../session/session.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog, Dialog } from "../../ui/dialog.tsx";
import { Command } from "../../ui/empty-state.tsx";
import { TextField, ChoiceField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { Item, Items } from "../../ui/items.tsx";
import { AbsoluteTime, RelativeTime } from "../../ui/time.tsx";
import { useAction } from "../../ui/use-action.ts";

const pathOf = ({ name }: Source) => `/api/v1/sources/${encodeURIComponent(name)}`;

export function SecretsCard({ source, needsSecret }: { source: Source; needsSecret: boolean }) {
  const canChange = useCanChange();
  const [isRotating, setRotating] = useState(false);
  const [made, setMade] = useState<string>();
  const [ending, setEnding] = useState<Source["secrets"][number]>();
  const end = useAction({
    run: (id: string) => sendJson<Source>("DELETE", `${pathOf(source)}/secrets/${encodeURIComponent(id)}`),
    changes: ["source"],
    says: "The secret is not valid any more.",
    onDone: () => setEnding(undefined),
  });
  if (!needsSecret && source.secrets.length === 0) return null;
  return (
    <section className="card" aria-labelledby="secrets-head">
      <div className="card-head">
        <h2 id="secrets-head">Secrets</h2>
        {canChange && <Button onClick={() => setRotating(true)}>Rotate secret</Button>}
      </div>
      {source.secrets.length === 0 && <p className="error-text">There is none, so no request can be verified.</p>}
      <Items label="Secrets">
        {source.secrets.map((secret) => (
          <Item
            key={secret.id}
            title={<span className="mono">{secret.hint}</span>}
            badges={secret.current ? <Badge state="active">current</Badge> : <Badge state="pending">still valid</Badge>}
            note={
              <>
                <span>
                  created <RelativeTime at={secret.created_at} />
                </span>
                {secret.ends_at !== null && (
                  <span>
                    valid until <AbsoluteTime at={secret.ends_at} />
                  </span>
                )}
              </>
            }
            actions={
              canChange ? (
                <Button aria-label={`End ${secret.hint}`} onClick={() => setEnding(secret)}>
                  End
                </Button>
              ) : undefined
            }
          />
        ))}
      </Items>
      {isRotating && (
        <RotateDialog
          source={source}
          onClose={() => setRotating(false)}
          onMade={(secret) => {
            setRotating(false);
            setMade(secret);
          }}
        />
      )}
      {made !== undefined && (
        <Dialog isOpen onClose={() => setMade(undefined)} title="The new secret">
          <p>Enter it at the sender now. It is not shown again.</p>
          <Command text={made} />
        </Dialog>
      )}
      <ConfirmDialog
        isOpen={ending !== undefined}
        onClose={() => setEnding(undefined)}
        title="End this secret?"
        action="End it now"
        isBusy={end.isPending}
        onConfirm={() => ending !== undefined && end.mutate(ending.id)}
      >
        <p>Requests that are signed with the secret {ending?.hint} are rejected from now on. This cannot be undone.</p>
      </ConfirmDialog>
    </section>
  );
}

const OVERLAPS = {
  "1209600": "for 14 days",
  "86400": "for a day",
  "3600": "for an hour",
  "0": "not at all",
} as const;

interface RotateDialogProps {
  source: Source;
  onClose: () => void;
  onMade: (secret: string) => void;
}

function RotateDialog({ source, onClose, onMade }: RotateDialogProps) {
  const [secret, setSecret] = useState("");
  const [overlap, setOverlap] = useState<keyof typeof OVERLAPS>("1209600");
  const rotate = useAction({
    run: () =>
      sendJson<SourceWithSecret>("POST", `${pathOf(source)}/rotate-secret`, {
        ...(secret !== "" && { secret }),
        overlap_s: Number(overlap),
      }),
    changes: ["source"],
    onDone: (answer) => onMade(answer.secret),
  });
  return (
    <FormDialog
      title="Rotate secret"
      action="Rotate"
      onClose={onClose}
      onSubmit={() => rotate.mutate(undefined)}
      isBusy={rotate.isPending}
    >
      <TextField
        label="New secret"
        type="password"
        value={secret}
        onChange={setSecret}
        hint="As the sender has it. Leave it empty to have one generated."
      />
      <ChoiceField label="The secrets before it stay valid" options={OVERLAPS} value={overlap} onChange={setOverlap} />
    </FormDialog>
  );
}
