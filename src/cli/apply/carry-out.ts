import type { ApiClient } from "../api-client.ts";
import { CommandFailure } from "../failure.ts";
import { countOf } from "../output.ts";
import { openProgress } from "../progress.ts";
import type { Step } from "./plan.ts";

/** One step after the other, in the order of the plan. Steps before a failed one are not undone. */
export async function carryOut(client: ApiClient, steps: readonly Step[]): Promise<void> {
  const progress = openProgress(steps.length);
  let made = 0;
  try {
    for (const step of steps) {
      try {
        await carryOutOne(client, step);
      } catch (error) {
        throw new CommandFailure(
          `${step.label}: ${(error as Error).message} ${made} of ${countOf(steps.length, "change")} made. ` +
            "Run the command again to make the remaining changes.",
        );
      }
      made += 1;
      progress.show(made);
    }
  } finally {
    progress.close();
  }
}

async function carryOutOne(client: ApiClient, { path, query, body, etag }: Step): Promise<void> {
  const match = etag === undefined ? {} : { "if-match": etag };
  if (body === undefined) {
    await client.send("DELETE", path, { query, headers: match, expected: [404] });
    return;
  }
  await client.send("PUT", path, {
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...match },
  });
}
