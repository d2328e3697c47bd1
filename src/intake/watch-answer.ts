import type { IncomingMessage, ServerResponse } from "node:http";
import type { Activity, AnsweredRequest } from "../telemetry/activity.ts";

const WEBHOOK = /^\/webhook\/[^/?]*/;

/** What became of a request, as far as its answer alone does not say it. */
export type AnswerFacts = Pick<AnsweredRequest, "outcome" | "eventId">;

const noted = new WeakMap<ServerResponse, AnswerFacts>();

export function noteAnswer(response: ServerResponse, facts: AnswerFacts): void {
  noted.set(response, facts);
}

/** Reports a request when its answer has been sent. */
export function watchAnswer(request: IncomingMessage, response: ServerResponse, tell: Activity["request"]): void {
  const startedAt = performance.now();
  const { method = "", url = "/" } = request;
  response.once("finish", () => {
    const path = WEBHOOK.exec(url)?.[0] ?? url.split("?", 1)[0] ?? url;
    const { statusCode: status } = response;
    tell({ method, path, status, durationMs: performance.now() - startedAt, ...noted.get(response) });
  });
}
