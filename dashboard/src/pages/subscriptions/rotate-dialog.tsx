import { useState } from "react";
import { ApiError, sendJson } from "../../api/client.ts";
import type { Rotation, Subscription } from "../../api/types.ts";
import { useAction } from "../../ui/use-action.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Failure } from "../../ui/failure.tsx";
import { CHANGED, pathOf } from "./paths.ts";

const DAY_S = 86_400;
const OVERLAPS: Readonly<Record<string, string>> = {
  [0]: "None: the old secret is retired at once",
  [3600]: "1 hour",
  [DAY_S]: "1 day",
  [7 * DAY_S]: "7 days",
  [14 * DAY_S]: "14 days",
  [30 * DAY_S]: "30 days",
};

interface RotateDialogProps {
  subscription: Subscription;
  /** As far as is known: the gateway says it too. */
  isRotating: boolean;
  onClose: () => void;
  onRotated: () => void;
}

/** A second secret beside the current one, for as long as the receiver needs. */
export function RotateDialog({ subscription, isRotating, onClose, onRotated }: RotateDialogProps) {
  const { id, name } = subscription;
  const [overlapS, setOverlapS] = useState(String(14 * DAY_S));
  const [secret, setSecret] = useState("");
  const [isForced, setForced] = useState(false);
  const rotate = useAction({
    run: () =>
      sendJson<Rotation>("POST", pathOf(id, "/rotate-secret"), {
        overlap_s: Number(overlapS),
        ...(secret !== "" && { secret }),
        ...(isForced && { force: true }),
      }),
    changes: CHANGED,
    says: "The new secret signs beside the old one. Give it to the receiver, then confirm it.",
    onDone() {
      onClose();
      onRotated();
    },
    isFailureShown: () => true,
  });
  const { error } = rotate;
  const isUnderWay = isRotating || (error instanceof ApiError && error.code === "conflict");
  return (
    <Dialog isOpen onClose={onClose} title={`Rotate the secret of ${name}`}>
      <p className="muted">
        Both secrets sign until the overlap ends, so the receiver can change over without losing a delivery.
      </p>
      <label className="field">
        <span>Overlap</span>
        <select className="input" value={overlapS} onChange={({ target }) => setOverlapS(target.value)}>
          {Object.entries(OVERLAPS).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <label className="field">
        <span>New secret</span>
        <input
          className="input mono"
          value={secret}
          placeholder="Generated when left empty"
          autoComplete="off"
          spellCheck={false}
          aria-invalid={error instanceof ApiError && error.field === "secret"}
          onChange={({ target }) => setSecret(target.value)}
        />
      </label>
      {isUnderWay && (
        <label className="check">
          <input type="checkbox" checked={isForced} onChange={({ target }) => setForced(target.checked)} />
          <span>Give up the rotation that is under way for this one</span>
        </label>
      )}
      {error !== null && <Failure error={error} />}
      <div className="dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          kind={overlapS === "0" || isForced ? "danger" : "primary"}
          isBusy={rotate.isPending}
          onClick={() => rotate.mutate(undefined)}
        >
          Rotate
        </Button>
      </div>
    </Dialog>
  );
}
