import type { HealthAddress } from "../../model/target-rules.ts";
import type { HttpClient, HttpResult } from "../wire/http-client.ts";

/** Calls `done` once, with the problem or with undefined. */
type HttpHealthCheck = (health: HealthAddress, owner: string, done: (error: string | undefined) => void) => void;

export interface HealthCheckOptions {
  /** The guarded client: a health URL must not reach more than a delivery may. */
  client: Pick<HttpClient, "request">;
  userAgent: string;
}

const TIMEOUT_MS = 10_000;
const EMPTY = new Uint8Array(0);

export function createHealthCheck({ client, userAgent }: HealthCheckOptions): HttpHealthCheck {
  const headers = { "User-Agent": userAgent, Accept: "application/json" };

  function ask(url: string, owner: string, done: (result: HttpResult) => void): void {
    client.request({ method: "GET", url, headers, body: EMPTY, timeoutMs: TIMEOUT_MS, owner }, done);
  }

  return ({ url, otherUrl }, owner, done) => {
    ask(url, owner, (result) => {
      const isUnknown = result.kind === "response" && result.status === 404;
      if (isUnknown && otherUrl !== undefined) ask(otherUrl, owner, (other) => done(findProblem(other)));
      else done(findProblem(result));
    });
  };
}

function findProblem(result: HttpResult): string | undefined {
  if (result.kind !== "response") return `health check: ${result.error}`;
  const { status, body } = result;
  if (status < 200 || status > 299) return `health check: answered ${status}`;
  return isOk(body) ? undefined : `health check: answered ${status}, but not {"status":"ok"}`;
}

function isOk(body: Uint8Array): boolean {
  try {
    const answer = JSON.parse(new TextDecoder().decode(body)) as unknown;
    return typeof answer === "object" && answer !== null && "status" in answer && answer.status === "ok";
  } catch {
    return false;
  }
}
