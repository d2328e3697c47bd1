import { useMutation } from "@tanstack/react-query";
import { getJson } from "../../api/client.ts";
import type { Source } from "../../api/types.ts";
import { useCanChange, useSession } from "../../session/session.tsx";
import { Button } from "../../ui/button.tsx";
import { Command } from "../../ui/empty-state.tsx";
import { useToast } from "../../ui/toasts.tsx";
import { hintOfKind } from "./presets.ts";

/** What is pasted at the provider. One that holds a token is shown to who may see it, which the audit log notes. */
export function UrlCard({ source }: { source: Source }) {
  const { public_url: base } = useSession();
  const canChange = useCanChange();
  const toast = useToast();
  const reveal = useMutation({
    mutationFn: () => getJson<{ path: string }>(`/api/v1/sources/${encodeURIComponent(source.name)}/path-token`),
    onError: toast.fail,
  });
  const isHidden = source.path_token !== null && reveal.data === undefined;
  const path = reveal.data?.path ?? `/webhook/${source.name}${isHidden ? "/***" : ""}`;
  return (
    <section className="card" aria-labelledby="url-head">
      <div className="card-head">
        <h2 id="url-head">URL for the sender</h2>
        {isHidden && canChange && (
          <Button isBusy={reveal.isPending} onClick={() => reveal.mutate()}>
            Show the token
          </Button>
        )}
      </div>
      <Command text={`${base}${path}`} />
      <p className="muted small">{hintOfKind(source.kind)}</p>
    </section>
  );
}
