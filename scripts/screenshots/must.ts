import type { Answer } from "../../test/support/api-client.ts";

/** Missing data would be a picture without it. */
export async function must(asked: Promise<Answer>): Promise<Answer> {
  const answer = await asked;
  if (answer.status < 400) return answer;
  throw new Error(`the example data was rejected with ${answer.status}: ${answer.text}`);
}
