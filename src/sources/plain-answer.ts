import { PosthornError } from "../model/errors.ts";
import type { KindAnswer } from "./source-kind.ts";

/** Longer than any provider's challenge. */
const MAX_CHALLENGE_LENGTH = 4096;

/** Returns a challenge as plain text, so that no browser treats it as a page. */
export function echoChallenge(challenge: string): KindAnswer {
  if (challenge === "" || challenge.length > MAX_CHALLENGE_LENGTH) {
    throw new PosthornError("bad_request", `A challenge has 1 to ${MAX_CHALLENGE_LENGTH} characters.`);
  }
  return {
    status: 200,
    headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
    body: challenge,
  };
}

export function jsonAnswer(body: string, status = 200): KindAnswer {
  return { status, headers: { "content-type": "application/json" }, body };
}
