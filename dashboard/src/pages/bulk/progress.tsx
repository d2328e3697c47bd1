import { useQuery } from "@tanstack/react-query";
import { replayQuery } from "../../api/replay-queries.ts";
import type { Replay } from "../../api/types.ts";
import { Badge } from "../../ui/badge.tsx";
import { formatCount } from "../../ui/numbers.ts";

/** What was looked at counts, whatever became of it. */
function handledOf({ done, skipped, failed }: Replay): number {
  return done + skipped + failed;
}

const PAST: Partial<Readonly<Record<Replay["kind"], string>>> = { cancel: "cancelled", purge: "purged" };

export function Progress({ replay }: { replay: Replay }) {
  const { kind, total, total_exact: isExact, status } = replay;
  const handled = handledOf(replay);
  const max = Math.max(total, handled, 1);
  const share = status === "completed" ? 100 : Math.floor((handled / max) * 100);
  return (
    <div className="progress">
      <progress max={100} value={share} aria-label="Progress" />
      <span className="number small">
        {formatCount(handled)} of {isExact ? "" : "at least "}
        {formatCount(Math.max(total, handled))} {PAST[kind] ?? "opened again"}
      </span>
    </div>
  );
}

/** What became of the deliveries that it opened: opened is not delivered. */
export function Results({ replay }: { replay: Pick<Replay, "results" | "done"> }) {
  const { results, done } = replay;
  if (results === null || results === undefined || results.counted === 0) return null;
  const { delivered, failed_again: failed, waiting, cancelled, counted } = results;
  return (
    <span className="badges">
      <Badge state="delivered">{formatCount(delivered)} delivered</Badge>
      <Badge state="failed" tone={failed > 0 ? "bad" : "neutral"}>
        {formatCount(failed)} failed again
      </Badge>
      <Badge state="pending" tone={waiting > 0 ? "waiting" : "neutral"}>
        {formatCount(waiting)} waiting
      </Badge>
      {cancelled > 0 && <Badge state="cancelled">{formatCount(cancelled)} cancelled</Badge>}
      {counted < done && <span className="muted small">of the first {formatCount(counted)}</span>}
    </span>
  );
}

/** For a list, which has only the progress of each. */
export function LoadedResults({ id }: { id: string }) {
  const { data } = useQuery(replayQuery(id));
  return data === undefined ? null : <Results replay={data} />;
}
