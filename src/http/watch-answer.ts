import type { IncomingMessage, ServerResponse } from "node:http";
import type { Activity } from "../telemetry/activity.ts";

const WEBHOOK = /^\/webhook\/[^/?]*/;

/** Reports a request when its answer has been sent. */
export function watchAnswer(request: IncomingMessage, response: ServerResponse, tell: Activity["request"]): void {
  const startedAt = performance.now();
  const { method = "", url = "/" } = request;
  response.once("finish", () => {
    const path = WEBHOOK.exec(url)?.[0] ?? url.split("?", 1)[0] ?? url;
    tell({ method, path, status: response.statusCode, durationMs: performance.now() - startedAt });
  });
}
