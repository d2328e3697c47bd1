import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";

export interface LocalRequest {
  method: string;
  /** Relative to the given address. */
  path: string;
  query: string;
  headers: readonly (readonly [name: string, value: string])[];
  body: Buffer;
}

/** Without a status there was no answer. */
export interface LocalAnswer {
  status?: number | undefined;
  error?: string;
  /** Whether no server listens there. */
  isAway?: boolean;
  headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  body: Buffer;
  durationMs?: number;
}

const TIMEOUT_MS = 30_000;
const MAX_BODY_BYTES = 65_536;
export const NO_ANSWER: LocalAnswer = { headers: {}, body: Buffer.alloc(0) };

/** Sends the exact bytes: an HTTP client library could add, drop or rewrite headers. */
export function askLocalServer(to: URL, sent: LocalRequest, signal: AbortSignal): Promise<LocalAnswer> {
  const startedAt = performance.now();
  const request = to.protocol === "https:" ? requestHttps : requestHttp;
  const url = new URL(to);
  url.pathname = url.pathname.replace(/\/$/, "") + sent.path || "/";
  const query = [url.search.slice(1), sent.query].filter((part) => part !== "").join("&");
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of sent.headers) {
    const before = headers[name];
    headers[name] = before === undefined ? value : [before, value].flat();
  }
  return new Promise((resolve) => {
    const fail = (error: NodeJS.ErrnoException) =>
      resolve({
        ...NO_ANSWER,
        error: error.code ?? error.message,
        isAway: ["ECONNREFUSED", "EHOSTUNREACH", "ENOTFOUND"].includes(error.code ?? ""),
      });
    const outgoing = request(
      url,
      {
        method: sent.method,
        path: url.pathname + (query === "" ? "" : `?${query}`),
        headers: { ...headers, "content-length": String(sent.body.length) },
        agent: false,
        timeout: TIMEOUT_MS,
        // A local server usually has a self-signed certificate.
        rejectUnauthorized: false,
        signal,
      },
      (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on("data", (chunk: Buffer) => {
          if (size < MAX_BODY_BYTES) chunks.push(chunk.subarray(0, MAX_BODY_BYTES - size));
          size += chunk.length;
        });
        response.on("error", fail);
        response.on("end", () =>
          resolve({
            status: response.statusCode,
            headers: response.headers,
            body: Buffer.concat(chunks),
            durationMs: Math.round(performance.now() - startedAt),
          }),
        );
      },
    );
    outgoing.on("timeout", () => outgoing.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)));
    outgoing.on("error", fail);
    outgoing.end(sent.body);
  });
}
