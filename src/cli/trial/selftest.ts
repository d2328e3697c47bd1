import { randomBytes, randomInt } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { type ApiClient, createApiClient } from "../api-client.ts";
import { CommandFailure, ReportedFailure } from "../failure.ts";
import { describeFileSystem, findFsyncDoubt, formatMs, type FsyncTime, measureFsync } from "../fsync-time.ts";
import { note, openProgress, print, printFacts, printJson } from "../output.ts";
import { readCount } from "../read-value.ts";
import { resolvePath, runInterruptible } from "../surroundings.ts";
import { openLoadConnection, writeRequest } from "./load.ts";
import {
  type OwnGateway,
  startOwnGateway,
  type StartOwnGateway,
  type TrialFlags,
  withTrialFolder,
} from "./own-gateway.ts";
import { hashOf, openRecordingSink, type RecordingSink } from "./sink.ts";

const FSYNCS = { count: 200, maxMs: 1000 };
const MAX_SHOWN = 10;

export async function runSelftest(flags: TrialFlags): Promise<void> {
  const seconds = readCount(flags.seconds, "--seconds", { min: 3, max: 600 });
  const dir = resolvePath(flags.dir);
  const progress = openProgress(seconds, " s");
  const onProgress = (done: number) => progress.show(done);
  const { account, fsync } = await runInterruptible(async (signal) => ({
    fsync: await withTrialFolder(dir, {}, async (folder) => measureFsync(folder, FSYNCS)),
    account: await performSelftest({ seconds, startGateway: startOwnGateway, dir, signal, onProgress }),
  })).finally(() => progress.close());
  printAccount(account, fsync, dir, flags.json === true);
  if (!isSound(account)) throw new ReportedFailure();
}

function printAccount(account: Account, fsync: FsyncTime, dir: string, isJson: boolean): void {
  const { kills, acknowledged, lost, undelivered, changed, repeated } = account;
  const isWell = isSound(account);
  const fileSystem = describeFileSystem(dir);
  const doubt = findFsyncDoubt(fsync, fileSystem);
  if (isJson) {
    const figures = { median_ms: fsync.medianMs, p99_ms: fsync.p99Ms, doubt: doubt ?? null };
    return printJson({ ok: isWell, ...account, fsync: figures, dir, file_system: fileSystem.name });
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

interface Account {
  kills: number;
  acknowledged: number;
  /** Not in the event log. */
  lost: string[];
  /** In the log, but not delivered when no delivery was open any more. */
  undelivered: string[];
  /** Delivered with other bytes than were sent. */
  changed: string[];
  /** Delivered more than once, which is allowed for deliveries under way at a kill. */
  repeated: number;
}

/** A run without acknowledged events proves nothing, so it is not sound. */
export function isSound({ acknowledged, lost, undelivered, changed }: Account): boolean {
  return acknowledged > 0 && lost.length + undelivered.length + changed.length === 0;
}

interface SelftestOptions {
  seconds: number;
  startGateway: StartOwnGateway;
  /** On the disk to test. */
  dir: string;
  signal: AbortSignal;
  onProgress: (seconds: number) => void;
}

type Ledger = Map<string, string>;

const SOURCE = "selftest";
const CONNECTIONS = 8;
const MIN_KILLS = 3;
/** The rest of the time is for the open deliveries and the comparison. */
const SHARE_OF_KILLS = 0.7;
const MAX_DRAIN_MS = 60_000;
const POLL_MS = 50;

export async function performSelftest(options: SelftestOptions): Promise<Account> {
  const { seconds, startGateway, dir, signal, onProgress } = options;
  const sink = await openRecordingSink();
  const startedAt = performance.now();
  const elapsedS = () => (performance.now() - startedAt) / 1000;
  const ticking = setInterval(() => onProgress(Math.min(seconds, Math.floor(elapsedS()))), 100);
  try {
    return await withTrialFolder(dir, configFor(sink.urlOf("")), async (folder) => {
      const ledger: Ledger = new Map();
      let kills = 0;
      while (kills < MIN_KILLS || elapsedS() < seconds * SHARE_OF_KILLS) {
        await loadAndKill(await startGateway(folder), ledger, signal);
        kills += 1;
      }
      const gateway = await startGateway(folder);
      try {
        const client = createApiClient(gateway.url, gateway.key);
        await untilDrained(client, signal);
        return { kills, ...compare(ledger, await listStored(client), sink) };
      } finally {
        await gateway.stop();
      }
    });
  } finally {
    clearInterval(ticking);
    await sink.close();
  }
}

function configFor(url: string): object {
  // The sink is always there: an attempt fails only because the gateway was killed, so it may be retried soon.
  const retries = { delays_s: Array.from({ length: 20 }, () => 1) };
  return {
    sources: [{ name: SOURCE }],
    subscriptions: [{ name: "sink", url, events: [`webhook.${SOURCE}`], retry_policy: retries }],
  };
}

/** Each kill comes after a different number of answers, and so at a different moment of the work. */
async function loadAndKill(gateway: OwnGateway, ledger: Ledger, signal: AbortSignal): Promise<void> {
  const port = Number(new URL(gateway.url).port);
  let answersLeft = randomInt(20, 600);
  let killing: Promise<void> | undefined;
  const kill = () => (killing ??= gateway.kill());
  const onAbort = (): void => void kill();
  const onAnswer = (): void => {
    answersLeft -= 1;
    if (answersLeft === 0) void kill();
  };
  signal.addEventListener("abort", onAbort);
  try {
    await Promise.all(Array.from({ length: CONNECTIONS }, () => sendUntilLost(port, ledger, onAnswer)));
  } finally {
    await kill();
    signal.removeEventListener("abort", onAbort);
  }
  signal.throwIfAborted();
}

async function sendUntilLost(port: number, ledger: Ledger, onAnswer: () => void): Promise<void> {
  let lose: () => void = () => undefined;
  const lost = new Promise<void>((resolve) => (lose = resolve));
  const connection = await openLoadConnection(port, lose).catch(() => undefined);
  if (connection === undefined) return;
  const sendNext = (): void => {
    const body = createBody();
    connection.send(writeRequest(port, `/webhook/${SOURCE}`, body), (status, answer, bodyAt) => {
      if (status >= 200 && status < 300) {
        const { event_id: id } = JSON.parse(answer.toString("utf8", bodyAt)) as { event_id: string };
        ledger.set(id, hashOf(body));
      }
      onAnswer();
      sendNext();
    });
  };
  sendNext();
  await lost;
}

/** Different bytes each time, with spellings that a gateway would change if it rewrote the JSON. */
function createBody(): Buffer {
  const filler = randomBytes(randomInt(20, 600)).toString("hex");
  return Buffer.from(
    `{ "id":"${randomBytes(8).toString("hex")}","n": 12345678901234567890,"e":"\\u00e9 é","x":"${filler}"}`,
  );
}

async function untilDrained(client: ApiClient, signal: AbortSignal): Promise<void> {
  const endsAt = performance.now() + MAX_DRAIN_MS;
  for (;;) {
    signal.throwIfAborted();
    const { queue_length: open } = (await client.get("/status")).read() as { queue_length: number };
    if (open === 0) return;
    if (performance.now() > endsAt) {
      throw new CommandFailure(`${open} deliveries are still open ${MAX_DRAIN_MS / 1000} s after the last start.`);
    }
    await wait(POLL_MS);
  }
}

async function listStored(client: ApiClient): Promise<ReadonlySet<string>> {
  const { text } = await client.get("/api/v1/events/export", { source: SOURCE });
  const lines = text.split("\n").filter((line) => line !== "");
  return new Set(lines.map((line) => (JSON.parse(line) as { event_id: string }).event_id));
}

function compare(ledger: Ledger, stored: ReadonlySet<string>, { arrivals }: RecordingSink): Omit<Account, "kills"> {
  const ids = [...ledger.keys()];
  const hashes = new Map(arrivals.map(({ eventId, hash }) => [eventId, hash]));
  return {
    acknowledged: ids.length,
    lost: ids.filter((id) => !stored.has(id)),
    undelivered: ids.filter((id) => stored.has(id) && !hashes.has(id)),
    changed: ids.filter((id) => hashes.has(id) && hashes.get(id) !== ledger.get(id)),
    repeated: countRepeated(arrivals.map(({ eventId }) => eventId)),
  };
}

function countRepeated(ids: readonly string[]): number {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const id of ids) (seen.has(id) ? repeated : seen).add(id);
  return repeated.size;
}
