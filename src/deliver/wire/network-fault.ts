import { ANSWER_CUT, BLOCKED, OURS, PROXY_FAULT } from "./coded-error.ts";

/** What an error of a socket, of the DNS or of our own says about the destination, in words for users. */

const MEANINGS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EPIPE: "connection closed",
  ENOTFOUND: "the host name has no address",
  EAI_AGAIN: "the host name cannot be looked up now",
  EHOSTUNREACH: "no route to the host",
  ENETUNREACH: "no route to the network",
  ETIMEDOUT: "the host does not answer",
};

const LOST_CONNECTION: ReadonlySet<string> = new Set([ANSWER_CUT, "ECONNRESET", "EPIPE"]);

export function isBlocked(error: Error): boolean {
  return codeOf(error) === BLOCKED;
}

export function isLostConnection(error: Error): boolean {
  return LOST_CONNECTION.has(codeOf(error));
}

/** Our proxy failed: nothing is known about the destination. */
export function isOurFault(error: Error): boolean {
  return codeOf(error) === PROXY_FAULT;
}

export function describe(error: Error): string {
  const code = codeOf(error);
  if (code.startsWith(OURS)) return error.message;
  // An AggregateError (every address of a name failed) has a code, but no message.
  const meaning = MEANINGS[code] ?? describeTls(code) ?? (error.message === "" ? "no connection" : error.message);
  return code === "" ? meaning : `${meaning} (${code})`;
}

function codeOf(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : "";
}

/** OpenSSL's own message has several lines, with addresses in memory and paths of its build. */
function describeTls(code: string): string | undefined {
  if (!code.startsWith("ERR_SSL_")) return undefined;
  return `the TLS handshake failed: ${code.slice(8).toLowerCase().replaceAll("_", " ")}`;
}
