import type { Readiness, Status } from "../../sdk/src/generated/shapes.ts";
import { connect } from "./connect.ts";
import { ReportedFailure } from "./failure.ts";
import { countOf, formatAgo, formatBytes, print, printFacts, printJson, printTable } from "./output.ts";
import type { Call, SingleAction } from "./resources/resource.ts";

function describeRetention({ days, due_events: due, behind_s: behindS, remaining_s: remainingS }: Status["retention"]) {
  if (days === null) return "events for ever";
  const left = remainingS === null || due === 0 ? "" : `, about ${remainingS} s of work`;
  return `events for ${days} days${due === null || behindS === null ? "" : `; ${due} to be deleted, ${behindS} s behind${left}`}`;
}

export const ACTION: SingleAction = { run: showStatus };

async function showStatus({ flags }: Call): Promise<void> {
  const client = await connect(flags);
  const ready = await client.get("/readyz", {}, [503]);
  const readiness = ready.read() as Readiness;
  const status = (await client.get("/status")).read() as Status;
  if (flags.json === true) printJson({ url: client.url, readiness, status });
  else printStatus(client.url, readiness, status);
  if (ready.status === 503) throw new ReportedFailure();
}

function printStatus(url: string, readiness: Readiness, status: Status): void {
  const { store, disk } = readiness;
  printFacts([
    ["gateway", `${url} (${readiness.status})`],
    ["store", `${store.driver} ${store.version}, sync ${store.sync_mode}`],
    ["disk", disk.free_bytes === null ? disk.status : `${formatBytes(disk.free_bytes)} free (${disk.status})`],
    ["health", status.condition],
    ["mode", status.mode],
    ["waiting", countOf(status.queue_length, "delivery", "deliveries")],
    ["alerts", status.active_alerts === 0 ? "none" : `${status.active_alerts} active (posthorn alerts)`],
    ["kept", describeRetention(status.retention)],
    ["last error", status.last_error],
  ]);
  for (const { name, reason } of status.sources) print(`\nsource ${name} (accepts nothing now): ${reason}`);
  const wallMs = Date.now();
  for (const { source, subscription, since, next_try_at: nextTryAt, last_error: error } of status.missing_sources) {
    const times = `since ${formatAgo(since, wallMs)}, next try ${formatAgo(nextTryAt, wallMs)}`;
    print(`\nsource ${source} is unknown to the target of ${subscription} (${times}): ${error}`);
  }
  if (status.targets.length === 0) return;
  const rows = status.targets.map((target) => [
    target.name,
    target.condition,
    target.mode,
    formatAgo(target.since, wallMs),
    String(target.queue_length),
    String(target.failures),
    target.last_error ?? "-",
  ]);
  print("");
  printTable(["TARGET", "HEALTH", "MODE", "SINCE", "WAITING", "FAILURES", "LAST ERROR"], rows);
}
