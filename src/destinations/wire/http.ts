import type { HeaderBlock } from "../../model/headers.ts";
import type { ConnectionTerms } from "./connection-terms.ts";

/** The one HTTP client for all outgoing requests: guarded, with a deadline, and with a limit on what it reads. */
export interface HttpClient {
  /**
   * Sends one request, follows redirects, and calls `done` exactly once: at the latest one sweep after the deadline,
   * and never before `request` has returned.
   */
  request(request: HttpRequest, done: (result: HttpResult) => void): void;
  /** Stops all requests in flight (`error`) and closes all sockets. */
  close(): Promise<void>;
}

export interface HttpRequest {
  method: string;
  url: URL | string;
  /** Used in the request line of the first request instead of the path and query of `url`. */
  path?: string | undefined;
  /** By name, or as a finished block. */
  headers: Readonly<Record<string, string>> | HeaderBlock;
  /** Additional headers, only for the first origin: a redirect may lead anywhere. */
  originHeaders?: HeaderBlock | undefined;
  body: Uint8Array;
  /** For everything together: connecting, redirects and the whole answer. */
  timeoutMs: number;
  /** The tenant. Tenants take turns when many requests wait for the connections of one host. */
  owner?: string;
  /** 3 when not given. */
  maxRedirects?: number;
  /** How much of the answer is kept: 8 KB when not given, and never more than 64 KB. */
  keptBytes?: number;
  /** Returns why a redirect to this URL must not be followed. */
  findHopProblem?: ((url: string) => string | undefined) | undefined;
  /** Requirements for the connections of this request, redirects included. */
  terms?: ConnectionTerms | undefined;
}

export interface HttpResponse {
  status: number;
  /** May be the same object as in the last answer, if that had the same headers: it must not be changed. */
  headers: Readonly<Record<string, string>>;
  /** At most the first 8 KB, or `keptBytes`. */
  body: Uint8Array;
}

export type HttpResult =
  | (HttpResponse & {
      kind: "response";
      address: string;
      /** The URL of the last request, after redirects. */
      url: string;
      /** Why a redirect was not followed. */
      error?: string;
    })
  | {
      kind: "timed_out" | "unreachable" | "blocked" | "error";
      error: string;
      address?: string | undefined;
      /** The part of an answer that had arrived by then. */
      response?: HttpResponse | undefined;
    };

/** Where a request goes, by its URL. */
export interface Target {
  href: string;
  origin: string;
  protocol: string;
  hostname: string;
  port: number;
  path: string;
  hostLine: string;
  /** Targets of one pool share connections: they have the same origin and the same terms. */
  pool: string;
  terms: ConnectionTerms | undefined;
}
