import { setTimeout as wait } from "node:timers/promises";
import { readAnswer, type ApiAnswer, type ApiClient } from "../api-client.ts";
import { runUntilInterrupted } from "../interruption.ts";
import { note } from "../output.ts";
import { openProgress } from "../progress.ts";
import type { Row } from "./fields.ts";

const POLL_MS = 500;

export interface FollowedJob {
  /** The path that reports the job's progress. */
  path: (job: Row) => string;
  doneOf: (job: Row) => number;
  /** The command that follows the job again. */
  again: (job: Row) => string;
}

/** Waits until the job has ended. After an interruption the gateway continues the job. */
export async function followJob(
  client: ApiClient,
  first: ApiAnswer,
  { path, doneOf, again }: FollowedJob,
): Promise<ApiAnswer> {
  let answer = first;
  let job = readAnswer(client, answer) as Row;
  const total = Math.max(1, Number(job["total"]));
  const progress = openProgress(total);
  const follow = async (signal: AbortSignal): Promise<ApiAnswer> => {
    while (job["status"] === "running" || job["status"] === "paused") {
      progress.show(Math.min(total, doneOf(job)));
      await wait(POLL_MS, undefined, { signal });
      answer = await client.get(path(job));
      job = readAnswer(client, answer) as Row;
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
