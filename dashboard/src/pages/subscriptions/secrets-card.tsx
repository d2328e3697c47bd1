import { useState } from "react";
import { getJson, sendJson } from "../../api/client.ts";
import type { Rotation, Secrets, Subscription } from "../../api/types.ts";
import { useAction } from "../../ui/use-action.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { AbsoluteTime, RelativeTime } from "../../ui/time.tsx";
import { CHANGED, pathOf } from "./paths.ts";
import { RotateDialog } from "./rotate-dialog.tsx";

/** For those who may change it. Nothing is asked for until somebody wants to see it: that is in the audit log. */
export function SecretsCard({ subscription }: { subscription: Subscription }) {
  const { id } = subscription;
  const [secrets, setSecrets] = useState<Secrets>();
  const [opened, setOpened] = useState<"rotate" | "retire">();
  const reveal = useAction({ run: () => getJson<Secrets>(pathOf(id, "/secret")), changes: [], onDone: setSecrets });
  const settled = { changes: CHANGED, onDone: () => reveal.mutate(undefined) };
  const confirm = useAction({
    run: () => sendJson<Rotation>("POST", pathOf(id, "/rotate-secret/confirm")),
    ...settled,
    says: "The new secret is the current one.",
  });
  const retire = useAction({
    run: () => sendJson<Rotation>("POST", pathOf(id, "/rotate-secret/retire")),
    ...settled,
    says: "Only the new secret signs from now on.",
  });
  const isRotating = secrets?.secrets.some(({ state }) => state === "next") === true;
  const isOverlapping = (secrets?.secrets.length ?? 0) > 1;

  return (
    <section className="card" aria-labelledby="secrets-head">
      <div className="card-head">
        <h2 id="secrets-head">Signing secret</h2>
        <div className="page-actions">
          {secrets === undefined ? (
            <Button isBusy={reveal.isPending} onClick={() => reveal.mutate(undefined)}>
              Reveal
            </Button>
          ) : (
            <Button kind="quiet" onClick={() => setSecrets(undefined)}>
              Hide
            </Button>
          )}
          <Button onClick={() => setOpened("rotate")}>Rotate</Button>
        </div>
      </div>
      {secrets === undefined ? (
        <p className="muted small">Deliveries are signed with it. Revealing it is written to the audit log.</p>
      ) : (
        <SecretList secrets={secrets} />
      )}
      {isOverlapping && (
        <div className="page-actions">
          {isRotating && (
            <Button kind="primary" isBusy={confirm.isPending} onClick={() => confirm.mutate(undefined)}>
              Confirm the new secret
            </Button>
          )}
          <Button onClick={() => setOpened("retire")}>Retire the old secret now</Button>
        </div>
      )}
      {opened === "rotate" && (
        <RotateDialog
          subscription={subscription}
          isRotating={isRotating}
          onClose={() => setOpened(undefined)}
          onRotated={() => reveal.mutate(undefined)}
        />
      )}
      <ConfirmDialog
        isOpen={opened === "retire"}
        onClose={() => setOpened(undefined)}
        title="Retire the old secret now?"
        action="Retire"
        isBusy={retire.isPending}
        onConfirm={() => retire.mutate(undefined, { onSettled: () => setOpened(undefined) })}
      >
        <p>A receiver that still checks signatures with the old secret rejects everything from then on.</p>
      </ConfirmDialog>
    </section>
  );
}

const TONES = { current: "good", next: "waiting", previous: "neutral" } as const;

function SecretList({ secrets }: { secrets: Secrets }) {
  const { overlap_ends_at: end, ed25519 } = secrets;
  return (
    <>
      {end !== null && (
        <p className="small">
          Both secrets sign until <AbsoluteTime at={end} />.
        </p>
      )}
      {secrets.rotation === "overdue" && <p className="small error-text">It is due for rotation.</p>}
      <ul className="rows">
        {secrets.secrets.map(({ secret, state, created_at: createdAt }) => (
          <li key={secret}>
            <p className="row-head">
              <Badge state={state} tone={TONES[state]} />
              <span className="muted small">
                made <RelativeTime at={createdAt} />
              </span>
            </p>
            <span className="with-copy">
              <code className="secret">{secret}</code>
              <CopyButton text={secret} />
            </span>
          </li>
        ))}
      </ul>
      {ed25519 !== null && (
        <p className="with-copy small">
          Public key <code className="secret">{ed25519.public_key}</code>
          <CopyButton text={ed25519.public_key} />
        </p>
      )}
    </>
  );
}
