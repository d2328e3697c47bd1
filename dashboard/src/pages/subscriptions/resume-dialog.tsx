import { useState } from "react";
import { sendJson } from "../../api/client.ts";
import type { Subscription } from "../../api/types.ts";
import { useAction } from "../../ui/use-action.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { CHANGED, pathOf } from "./paths.ts";

/** With or without what was held meanwhile. */
export function ResumeDialog({ subscription, onClose }: { subscription: Subscription; onClose: () => void }) {
  const { id, name, stats } = subscription;
  const [held, setHeld] = useState<"deliver" | "skip">("deliver");
  const resume = useAction({
    run: () => sendJson<{ skipped_deliveries: number }>("POST", pathOf(id, "/resume"), { held }),
    changes: CHANGED,
    says: ({ skipped_deliveries: count }) =>
      count === 0 ? "It is active again." : `It is active again. ${formatCount(count)} deliveries were cancelled.`,
    onDone: onClose,
  });
  const waiting = formatCount(stats.open_count);
  return (
    <Dialog isOpen onClose={onClose} title={`Resume ${name}`}>
      <fieldset className="choices">
        <legend>
          {stats.open_count === 1 ? "One delivery waits." : `${waiting} deliveries wait.`} What about them?
        </legend>
        <label>
          <input type="radio" name="held" checked={held === "deliver"} onChange={() => setHeld("deliver")} /> Deliver
          them now
        </label>
        <label>
          <input type="radio" name="held" checked={held === "skip"} onChange={() => setHeld("skip")} /> Cancel them, and
          deliver only what comes from now on
        </label>
      </fieldset>
      <div className="dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          kind={held === "skip" ? "danger" : "primary"}
          isBusy={resume.isPending}
          onClick={() => resume.mutate(undefined)}
        >
          {held === "skip" ? `Resume and cancel ${waiting}` : "Resume"}
        </Button>
      </div>
    </Dialog>
  );
}
