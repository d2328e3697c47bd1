import { setTimeout as wait } from "node:timers/promises";
import { readAnswer, type ApiAnswer, type ApiClient } from "../api-client.ts";
import { EXIT_INTERRUPTED } from "../failure.ts";
import { note } from "../output.ts";
import { openProgress } from "../progress.ts";
import type { Row } from "./fields.ts";

const POLL_MS = 500;

export interface FollowedJob {
  /** Where it is told how far it is. */
  path: (job: Row) => string;
  doneOf: (job: Row) => number;
  /** What a person types to follow it again. */
  again: (job: Row) => string;
}

/** Until it is over. Whoever does not want to wait any longer can go: the gateway works on. */
export async function followJob(
  client: ApiClient,
  first: ApiAnswer,
  { path, doneOf, again }: FollowedJob,
): Promise<ApiAnswer> {
  let answer = first;
  let job = readAnswer(client, answer) as Row;
  const total = Math.max(1, Number(job["total"]));
  const progress = openProgress(total);
  const leave = () => {
    progress.close();
    note(`the job goes on in the gateway without this command; ${again(job)} follows it`);
    process.exit(EXIT_INTERRUPTED);
  };
  process.once("SIGINT", leave);
  try {
    while (job["status"] === "running" || job["status"] === "paused") {
      progress.show(Math.min(total, doneOf(job)));
      await wait(POLL_MS);
      answer = await client.get(path(job));
      job = readAnswer(client, answer) as Row;
    }
  } finally {
    process.off("SIGINT", leave);
    progress.close();
  }
  return answer;
}
