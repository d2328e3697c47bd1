import type { Replay } from "../../api/types.ts";
import { formatCount } from "../../ui/numbers.ts";

/** What was looked at counts, whatever became of it. */
function handledOf({ done, skipped, failed }: Replay): number {
  return done + skipped + failed;
}

export function Progress({ replay }: { replay: Replay }) {
  const { total, total_exact: isExact, status } = replay;
  const handled = handledOf(replay);
  const max = Math.max(total, handled, 1);
  const share = status === "completed" ? 100 : Math.floor((handled / max) * 100);
  return (
    <div className="progress">
      <progress max={100} value={share} aria-label="Progress" />
      <span className="number small">
        {formatCount(handled)} of {isExact ? "" : "at least "}
        {formatCount(Math.max(total, handled))}
      </span>
    </div>
  );
}
