import type { Problem } from "../generated/shapes.ts";

/** The codes of this release's gateway; a newer one may have others. */
export type PosthornErrorCode = Problem["code"] | "unexpected_answer" | (string & {});

/** The gateway answered, and said no. */
export class PosthornApiError extends Error {
  override readonly name = "PosthornApiError";
  readonly status: number;
  /** Stable. `unexpected_answer` where what answered is not a gateway: a proxy, or another service. */
  readonly code: PosthornErrorCode;
  readonly title: string;
  /** What was wrong, with which value, and what to do. */
  readonly detail: string;
  /** The field at fault. */
  readonly field: string | undefined;
  readonly requestId: string | undefined;
  /** How long the gateway asks to wait. */
  readonly retryAfterS: number | undefined;
  /** All that was answered (RFC 9457): some errors have members of their own. */
  readonly problem: Problem;

  constructor(problem: Problem, retryAfterS?: number) {
    super(`${problem.title}: ${problem.detail} (${problem.status} ${problem.code})`);
    this.status = problem.status;
    this.code = problem.code;
    this.title = problem.title;
    this.detail = problem.detail;
    this.field = problem.field;
    this.requestId = problem.request_id;
    this.retryAfterS = retryAfterS;
    this.problem = problem;
  }
}

/** There was no answer, or not all of one: nobody knows whether the request was carried out. */
export class PosthornConnectionError extends Error {
  override readonly name = "PosthornConnectionError";
  readonly code: "unreachable" | "timeout";

  constructor(code: "unreachable" | "timeout", message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** For what answered and is not the gateway, or not as the gateway answers. */
export function unexpectedAnswer(status: number, detail: string): PosthornApiError {
  const code = "unexpected_answer" as Problem["code"];
  return new PosthornApiError(toProblem({ status, code, title: "The answer is not one of a gateway", detail }));
}

const MAX_SHOWN = 200;

export async function readApiError(response: Response): Promise<PosthornApiError> {
  const text = await response.text();
  const problem = parseProblem(text);
  if (problem !== undefined) return new PosthornApiError(problem, readRetryAfter(response.headers));
  const where = response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400);
  const hint = where ? "It redirects elsewhere; give the address that it redirects to as `url`." : "";
  return unexpectedAnswer(response.status, `${hint}${text.slice(0, MAX_SHOWN)}` || "The body is empty.");
}

function parseProblem(text: string): Problem | undefined {
  try {
    const value = JSON.parse(text) as Problem | null;
    return typeof value?.code === "string" && typeof value.status === "number" ? toProblem(value) : undefined;
  } catch {
    return undefined;
  }
}

function toProblem(value: Partial<Problem> & Pick<Problem, "status" | "code">): Problem {
  const { code } = value;
  return { title: code, detail: "", ...value, type: `urn:posthorn:error:${code}` };
}

/** A problem that one item of several was answered with. */
export function isProblem(value: object): value is Problem {
  return "code" in value && "status" in value && typeof value.status === "number";
}

/** In seconds, or a date (RFC 9110 §10.2.3). */
function readRetryAfter(headers: Headers): number | undefined {
  const text = headers.get("retry-after");
  if (text === null) return undefined;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
