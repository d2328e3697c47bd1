import { useState } from "react";
import { sendJson } from "../../api/client.ts";
import type { Target } from "../../api/types.ts";
import { useAction } from "../../ui/use-action.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { keyOf } from "./target-key.ts";

type Asked = Target["mode"] | "auto";

const CONSEQUENCES: Readonly<Record<Target["mode"], (target: Target) => string>> = {
  QUEUE: () => "Nothing is sent to it until it is automatic again, however well it is. Deliveries wait; none is lost.",
  NORMAL: ({ queue_length: waiting }) =>
    `Everything is sent to it, however often it fails: ${formatCount(waiting)} deliveries wait now. What fails often enough becomes a dead letter.`,
};

/** Sets a mode by hand, after a question; and gives it back to the target's health. */
export function ModeActions({ target }: { target: Target }) {
  const [asked, setAsked] = useState<Target["mode"]>();
  const query = target.shared ? `?tenant_id=${encodeURIComponent(target.tenant_id)}` : "";
  const force = useAction({
    run: (mode: Asked) =>
      sendJson<Target>("POST", `/api/v1/targets/${encodeURIComponent(keyOf(target))}/mode${query}`, { mode }),
    changes: ["target", "targets", "status", "mode-history"],
    says: ({ forced, mode }) =>
      forced === null
        ? `Its health decides again. It is in ${mode}.`
        : `It stays in ${mode} until it is automatic again.`,
  });
  const choices = (["QUEUE", "NORMAL"] as const).filter((mode) => mode !== target.forced);
  return (
    <>
      {target.forced !== null && (
        <Button kind="primary" isBusy={force.isPending} onClick={() => force.mutate("auto")}>
          Automatic again
        </Button>
      )}
      {choices.map((mode) => (
        <Button key={mode} onClick={() => setAsked(mode)}>
          Force {mode}
        </Button>
      ))}
      {asked !== undefined && (
        <ConfirmDialog
          isOpen
          onClose={() => setAsked(undefined)}
          title={`Force ${target.name} into ${asked}?`}
          action={`Force ${asked}`}
          isBusy={force.isPending}
          onConfirm={() => force.mutate(asked, { onSettled: () => setAsked(undefined) })}
        >
          <p>{CONSEQUENCES[asked](target)}</p>
        </ConfirmDialog>
      )}
    </>
  );
}
