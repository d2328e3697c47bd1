import { ReportedFailure } from "../failure.ts";
import { describeFileSystem, findFsyncDoubt, measureFsync, type FileSystem, type FsyncTime } from "../fsync-time.ts";
import { runInterruptible } from "../interruption.ts";
import { note, print, printFacts, printJson } from "../output.ts";
import { formatMs } from "../percentile.ts";
import { openProgress } from "../progress.ts";
import { readCount } from "../read-value.ts";
import { resolvePath } from "../surroundings.ts";
import { startOwnGateway, withTrialFolder } from "./own-gateway.ts";
import { isSound, performSelftest, type Account } from "./selftest.ts";

export interface SelftestFlags {
  dir: string;
  seconds: string;
  json?: boolean;
}

const FSYNCS = { count: 200, maxMs: 1000 };
const MAX_SHOWN = 10;

export async function runSelftest(flags: SelftestFlags): Promise<void> {
  const seconds = readCount(flags.seconds, "--seconds", { min: 3, max: 600 });
  const dir = resolvePath(flags.dir);
  const progress = openProgress(seconds, " s");
  const { account, fsync } = await runInterruptible(async (signal) => {
    const measured = await withTrialFolder(dir, {}, async (folder) => measureFsync(folder, FSYNCS));
    const found = await performSelftest({
      seconds,
      startGateway: startOwnGateway,
      inFolder: (config, run) => withTrialFolder(dir, config, run),
      signal,
      onProgress: (done) => progress.show(done),
    });
    return { account: found, fsync: measured };
  }).finally(() => progress.close());
  tell(account, { dir, fsync, fileSystem: describeFileSystem(dir) }, flags.json === true);
  if (!isSound(account)) throw new ReportedFailure();
}

interface Disk {
  dir: string;
  fsync: FsyncTime;
  fileSystem: FileSystem;
}

function tell(account: Account, { dir, fsync, fileSystem }: Disk, isJson: boolean): void {
  const { kills, acknowledged, lost, undelivered, changed, repeated } = account;
  const isWell = isSound(account);
  const doubt = findFsyncDoubt(fsync, fileSystem);
  if (isJson) {
    return printJson({
      ok: isWell,
      kills,
      acknowledged,
      lost,
      undelivered,
      changed,
      repeated,
      fsync: { median_ms: fsync.medianMs, p99_ms: fsync.p99Ms, doubt: doubt ?? null },
      dir,
      file_system: fileSystem.name,
    });
  }
  printFacts([
    ["folder", `${dir} (${fileSystem.name})`],
    ["kills", kills],
    ["acknowledged", `${acknowledged} events`],
    ["lost", describeEvents(lost)],
    ["bytes changed", describeEvents(changed)],
    ["not delivered", describeEvents(undelivered)],
    ["delivered twice", `${repeated} (deliveries under way at a kill may arrive again)`],
    ["fsync", `median ${formatMs(fsync.medianMs)}, p99 ${formatMs(fsync.p99Ms)}`],
  ]);
  if (acknowledged === 0) note("no event was acknowledged: the test proves nothing");
  print("");
  if (isWell) print("This shows: killing the gateway on this disk loses no acknowledged event and changes no byte.");
  else print("FAILED: events that the gateway acknowledged are missing. Keep this output and report it.");
  print(
    "It cannot show what a power failure does. A killed process leaves its writes in the memory of the system; only " +
      "cutting the power shows whether the disk keeps the writes that it has confirmed.",
  );
  if (doubt !== undefined) note(`about the fsync: ${doubt}`);
}

function describeEvents(ids: readonly string[]): string {
  const more = ids.length > MAX_SHOWN ? ` and ${ids.length - MAX_SHOWN} more` : "";
  return ids.length === 0 ? "0" : `${ids.length}: ${ids.slice(0, MAX_SHOWN).join(", ")}${more}`;
}
