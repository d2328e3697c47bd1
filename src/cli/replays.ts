import { setTimeout as wait } from "node:timers/promises";
import { readAnswer, type ApiAnswer, type ApiClient } from "./api-client.ts";
import { connect, type ClientFlags } from "./connect.ts";
import { runReplayDeadLetter } from "./deliveries.ts";
import { CommandFailure, usageFailure } from "./failure.ts";
import { printList, readTime, type Column, type ListFlags } from "./list.ts";
import { countOf, formatAgo, formatFacts, note, print } from "./output.ts";
import { openProgress } from "./progress.ts";

interface ReplayAnswer {
  id: string;
  kind: string;
  status: string;
  tenant_id: string | null;
  filter: Readonly<Record<string, string>>;
  total: number;
  total_exact: boolean;
  done: number;
  skipped: number;
  failed: number;
  error: string | null;
  created_at: string;
  completed_at: string | null;
}

export interface FilterFlags extends ClientFlags {
  subscription?: string;
  tenant?: string;
  type?: string;
  source?: string;
  reason?: string;
  include?: string;
  since?: string;
  until?: string;
}

export interface WorkFlags extends FilterFlags {
  all?: boolean;
  plan?: boolean;
  wait?: boolean;
}

const POLL_MS = 500;

const COLUMNS: readonly Column<ReplayAnswer>[] = [
  { heading: "REPLAY", show: ({ id }) => id },
  { heading: "KIND", show: ({ kind }) => kind },
  { heading: "STATUS", show: ({ status }) => status },
  { heading: "DONE", show: describeProgress },
  { heading: "STARTED", show: ({ created_at }, wallMs) => formatAgo(created_at, wallMs) },
  { heading: "FILTER", show: ({ filter }) => describeFilter(filter) },
];

export async function runStartReplay(kind: string, flags: WorkFlags): Promise<void> {
  const body = { kind: kind.replace("-", "_"), filter: toFilter(flags), plan: flags.plan };
  await begin("/api/v1/replays", body, flags);
}

export async function runReplayDeadLetters(id: string | undefined, flags: WorkFlags): Promise<void> {
  const filter = toFilter(flags);
  const isFiltered = Object.keys(filter).length > 0;
  if ([id !== undefined, isFiltered, flags.all === true].filter(Boolean).length !== 1) {
    throw usageFailure("Say which dead letters: an id, filters like --reason, or --all; one of the three.");
  }
  if (id !== undefined) return runReplayDeadLetter(id, flags);
  await begin("/api/v1/dead-letters/replay", { ...select(flags), plan: flags.plan }, flags);
}

export async function runPurgeDeadLetters(flags: WorkFlags & { confirm?: string; yes?: boolean }): Promise<void> {
  if (flags.confirm !== undefined && !/^\d{1,15}$/.test(flags.confirm)) {
    throw usageFailure(`--confirm: "${flags.confirm}" is no number.`);
  }
  const confirm = flags.yes === true ? "purge" : flags.confirm === undefined ? undefined : Number(flags.confirm);
  await begin("/api/v1/dead-letters/purge", { ...select(flags), confirm }, flags);
}

export async function runListReplays(flags: ListFlags & { status?: string }): Promise<void> {
  const query = { status: flags.status };
  await printList(await connect(flags), "/api/v1/replays", flags, { query, columns: COLUMNS });
}

export async function runShowReplay(id: string, flags: ClientFlags & { wait?: boolean }): Promise<void> {
  const client = await connect(flags);
  await tell(client, await client.get(pathOf(id)), flags);
}

export async function runChangeReplay(act: string, id: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  await tell(client, await client.post(`${pathOf(id)}/${act}`), flags);
}

/** Filters, or that none is meant: never everything by mistake. */
function select(flags: WorkFlags): object {
  const filter = toFilter(flags);
  const isFiltered = Object.keys(filter).length > 0;
  if (isFiltered === (flags.all === true)) throw usageFailure("Give filters like --reason, or --all; one of the two.");
  return isFiltered ? { filter } : { all: true };
}

function toFilter(flags: FilterFlags): Readonly<Record<string, string>> {
  const filter = {
    subscription_id: flags.subscription,
    tenant_id: flags.tenant,
    event_type: flags.type,
    source: flags.source,
    reason: flags.reason,
    include: flags.include,
    since: readTime("--since", flags.since),
    until: readTime("--until", flags.until),
  };
  return Object.fromEntries(Object.entries(filter).filter((pair): pair is [string, string] => pair[1] !== undefined));
}

async function begin(path: string, body: object, flags: WorkFlags): Promise<void> {
  const client = await connect(flags);
  const answer = await client.post(path, JSON.stringify(body), { "content-type": "application/json" });
  if (flags.plan !== true) return tell(client, answer, flags);
  if (flags.json === true) return print(answer.text);
  const { count, exact } = readAnswer(client, answer) as { count: number; exact: boolean };
  print(`${exact ? "" : "at least "}${countOf(count, "delivery", "deliveries")}`);
}

async function tell(client: ApiClient, first: ApiAnswer, flags: { json?: boolean; wait?: boolean }): Promise<void> {
  const answer = flags.wait === true ? await follow(client, first) : first;
  const replay = readAnswer(client, answer) as ReplayAnswer;
  if (flags.json === true) print(answer.text);
  else printReplay(replay);
  if (flags.wait === true && replay.status !== "completed") {
    throw new CommandFailure(`The replay ${replay.id} is ${replay.status}. ${replay.error ?? ""}`.trim());
  }
  if (flags.json !== true && replay.status === "running") note(`posthorn replay show ${replay.id} --wait follows it`);
}

/** Until it is over. Whoever does not want to wait any longer can go: the gateway works on. */
async function follow(client: ApiClient, first: ApiAnswer): Promise<ApiAnswer> {
  let answer = first;
  let replay = readAnswer(client, answer) as ReplayAnswer;
  const progress = openProgress(Math.max(1, replay.total));
  try {
    while (replay.status === "running" || replay.status === "paused") {
      progress.show(Math.min(Math.max(1, replay.total), replay.done + replay.skipped + replay.failed));
      await wait(POLL_MS);
      answer = await client.get(pathOf(replay.id));
      replay = readAnswer(client, answer) as ReplayAnswer;
    }
  } finally {
    progress.close();
  }
  return answer;
}

function printReplay(replay: ReplayAnswer): void {
  const wallMs = Date.now();
  print(
    formatFacts([
      ["replay", replay.id],
      ["kind", replay.kind],
      ["status", replay.status],
      ["tenant", replay.tenant_id],
      ["filter", describeFilter(replay.filter)],
      ["done", describeProgress(replay)],
      ["skipped", replay.skipped === 0 ? null : `${replay.skipped} (had changed meanwhile)`],
      ["failed", replay.failed === 0 ? null : `${replay.failed} (their subscription is gone)`],
      ["started", formatAgo(replay.created_at, wallMs)],
      ["ended", replay.completed_at && formatAgo(replay.completed_at, wallMs)],
      ["error", replay.error],
    ]),
  );
}

function describeProgress({ done, total, total_exact: isExact }: ReplayAnswer): string {
  return `${done} of ${isExact ? "" : "at least "}${total}`;
}

function describeFilter(filter: Readonly<Record<string, string>>): string {
  return Object.entries(filter)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
}

function pathOf(id: string): string {
  return `/api/v1/replays/${encodeURIComponent(id)}`;
}
