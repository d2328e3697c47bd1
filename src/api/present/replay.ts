import { requestedFilter } from "../../model/replay.ts";
import type { ReplayResults, ReplayRow } from "../../store/port/jobs.ts";
import { isoTime } from "./time.ts";

/** Undefined `results` for a job that opens no deliveries. */
export function presentReplayWith(replay: ReplayRow, results: ReplayResults | undefined) {
  if (results === undefined) return { ...presentReplay(replay), results: null };
  const { delivered, dead, open, cancelled } = results;
  const counted = delivered + dead + open + cancelled;
  return {
    ...presentReplay(replay),
    results: { delivered, failed_again: dead, waiting: open, cancelled, counted },
  };
}

export function presentReplay(replay: ReplayRow) {
  return {
    id: replay.id,
    kind: replay.kind,
    status: replay.status,
    tenant_id: replay.tenantId ?? null,
    filter: requestedFilter(replay.filter),
    total: replay.total,
    total_exact: replay.totalIsExact,
    done: replay.done,
    skipped: replay.skipped,
    failed: replay.failed,
    error: replay.error ?? null,
    created_at: isoTime(replay.createdAt),
    started_at: isoTime(replay.startedAt),
    completed_at: isoTime(replay.completedAt) ?? null,
  };
}
