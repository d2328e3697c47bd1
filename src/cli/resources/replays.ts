import { setTimeout as wait } from "node:timers/promises";
import { DEAD_REASONS } from "../../model/delivery.ts";
import { RECOVER_INCLUDES, REPLAY_STATUSES } from "../../model/replay.ts";
import type { ApiAnswer, ApiClient } from "../api-client.ts";
import { CommandFailure } from "../failure.ts";
import { countOf, note, openProgress, print } from "../output.ts";
import { readTime } from "../read-value.ts";
import { runUntilInterrupted } from "../surroundings.ts";
import { ago, asText, type Field, type Format, pairs, printFields, type Row } from "./fields.ts";
import { type Action, placeOf, type Resource } from "./resource.ts";
import { flag, type Flag, OF_TENANT, ownFlag, subscriptionFlag } from "./flags.ts";

const PATH = "/api/v1/replays";

export const WAIT = ownFlag("--wait", "until it is done");
export const PLAN = flag("--plan", "only count, without doing anything");

const PAST: Readonly<Record<string, string>> = { cancel: "cancelled", purge: "purged" };

const PROGRESS: readonly [string, Format] = [
  "done total total_exact kind",
  ([done, total, isExact, kind]) =>
    `${asText(done)} of ${isExact === true ? "" : "at least "}${asText(total)} ${PAST[String(kind)] ?? "opened again"}`,
];

const results: Format = ([given, done]) => {
  if (typeof given !== "object" || given === null) return undefined;
  const { delivered, failed_again: failed, waiting, cancelled, counted } = given as Record<string, number>;
  const texts = [`${delivered} delivered`, `${failed} failed again`, `${waiting} waiting`];
  if (cancelled !== 0) texts.push(`${cancelled} cancelled`);
  return `${texts.join(", ")}${Number(counted) < Number(done) ? ` (of the first ${counted})` : ""}`;
};

const FACTS: readonly Field[] = [
  ["replay", "id"],
  ["kind", "kind"],
  ["status", "status"],
  ["tenant", "tenant_id"],
  ["filter", "filter", pairs],
  ["progress", ...PROGRESS],
  ["results", "results done", results],
  ["skipped", "skipped", ([count]) => (count === 0 ? undefined : `${asText(count)} (changed in the meantime)`)],
  ["failed", "failed", ([count]) => (count === 0 ? undefined : `${asText(count)} (their subscription was deleted)`)],
  ["started", "created_at", ago],
  ["ended", "completed_at", ago],
  ["error", "error"],
];

const FILTER: readonly Flag[] = [
  subscriptionFlag("only for this subscription, by name or id"),
  OF_TENANT,
  flag("--type <type>", "only this event type", { field: "event_type" }),
  flag("--source <name>", "only events from this source"),
  flag("--reason <reason>", "only dead letters of this kind", { choices: DEAD_REASONS }),
  flag("--include <what>", "with recover: its dead letters, events it never had, or both", {
    choices: RECOVER_INCLUDES,
  }),
  flag("--since <time>", "received (dead letters: dead) since this time: RFC 3339, or 15m, 2h, 7d ago", {
    read: readTime,
  }),
  flag("--until <time>", "before then", { read: readTime }),
].map((one) => ({ ...one, field: `filter.${one.field}` }));

export const JOB: Pick<Action, "follow" | "print" | "check"> = {
  follow,
  print: printJob,
  check(row, { flags }) {
    if (flags["wait"] !== true || row["status"] === "completed" || isPlan(row)) return;
    throw new CommandFailure(
      `The replay ${asText(row["id"])} is ${asText(row["status"])}. ${asText(row["error"]) ?? ""}`.trim(),
    );
  },
};

export const RESOURCE: Resource = {
  path: PATH,
  key: "id",
  columns: [
    ["REPLAY", "id"],
    ["KIND", "kind"],
    ["STATUS", "status"],
    ["PROGRESS", ...PROGRESS],
    ["STARTED", "created_at", ago],
    ["FILTER", "filter", pairs],
  ],
  facts: FACTS,
  actions: {
    start: {
      ...JOB,
      help: "start a job; it survives restarts of the gateway",
      takes: "<kind>",
      choices: { of: ["dead-letters", "events", "recover", "cancel"], help: "what to send again, or to cancel" },
      flags: [...FILTER, PLAN, WAIT],
      path: () => PATH,
      body: ({ args: [kind], body }) => ({ filter: {}, ...body, kind: kind?.replace("-", "_") }),
    },
    list: {
      help: "list jobs, latest first",
      flags: [OF_TENANT, flag("--status <status>", "only in this state", { choices: REPLAY_STATUSES })],
    },
    show: { ...JOB, help: "show the progress of a job", flags: [WAIT] },
    pause: { ...JOB, help: "pause a job" },
    resume: { ...JOB, help: "resume a paused job" },
    cancel: { ...JOB, help: "cancel a job; what it has already done is not undone" },
  },
  notes: `

Examples:
  posthorn replay start events --type order.created --since 2h --plan
  posthorn replay start recover --subscription erp --since 7d --include all --wait
  posthorn replay start cancel --subscription erp
  posthorn replay show rpl_… --wait`,
};

/** A plan is not a job: it only counts. */
const isPlan = (row: Row) => typeof row["count"] === "number";

function printJob(row: Row): void {
  const { id, status, count, exact } = row;
  if (isPlan(row))
    return print(`${exact === true ? "" : "at least "}${countOf(Number(count), "delivery", "deliveries")}`);
  printFields(FACTS, row);
  if (status === "running") note(`posthorn replay show ${asText(id)} --wait follows it`);
}

function follow(client: ApiClient, first: ApiAnswer): Promise<ApiAnswer> {
  return followJob(client, first, {
    path: ({ id }) => placeOf({ path: PATH }, asText(id)),
    doneOf: ({ done, skipped, failed }) => Number(done) + Number(skipped) + Number(failed),
    again: ({ id }) => `posthorn replay show ${asText(id)} --wait`,
  });
}

const POLL_MS = 500;

interface FollowedJob {
  path: (job: Row) => string;
  doneOf: (job: Row) => number;
  again: (job: Row) => string;
}

/** Waits until the job has ended. After an interruption the gateway continues the job. */
export async function followJob(
  client: ApiClient,
  first: ApiAnswer,
  { path, doneOf, again }: FollowedJob,
): Promise<ApiAnswer> {
  let answer = first;
  let job = answer.read() as Row;
  const total = Math.max(1, Number(job["total"]));
  const progress = openProgress(total);
  const follow = async (signal: AbortSignal): Promise<ApiAnswer> => {
    while (job["status"] === "running" || job["status"] === "paused") {
      progress.show(Math.min(total, doneOf(job)));
      await wait(POLL_MS, undefined, { signal });
      answer = await client.get(path(job));
      job = answer.read() as Row;
    }
    return answer;
  };
  try {
    return await runUntilInterrupted(follow, () => {
      progress.close();
      note(`the gateway continues the job; to follow it again: ${again(job)}`);
    });
  } finally {
    progress.close();
  }
}
