import { BLOCKED, CONNECT_TIMEOUT, PROXY_FAULT } from "./coded-error.ts";

/** What an error of a socket, of the DNS or of undici says about the destination, in words for users. */

const MEANINGS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EPIPE: "connection closed",
  ENOTFOUND: "the host name has no address",
  EAI_AGAIN: "the host name cannot be looked up now",
  EHOSTUNREACH: "no route to the host",
  ENETUNREACH: "no route to the network",
  ETIMEDOUT: "the host does not answer",
  UND_ERR_SOCKET: "connection closed without a whole answer",
  UND_ERR_HEADERS_OVERFLOW: "the answer's headers are too large",
  // Undici asserts what a parser lets through, such as the status 000.
  ERR_ASSERTION: "the answer is not HTTP",
};

const LOST_CONNECTION: ReadonlySet<string> = new Set(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"]);
const OUR_FAULT: ReadonlySet<string> = new Set(["UND_ERR_INVALID_ARG", "UND_ERR_NOT_SUPPORTED", PROXY_FAULT]);

export function isBlocked(error: Error): boolean {
  return codeOf(error) === BLOCKED;
}

export function isLostConnection(error: Error): boolean {
  return LOST_CONNECTION.has(codeOf(error));
}

/** The request could not even be written down, as with a header that HTTP does not allow, or our proxy failed. */
export function isOurFault(error: Error): boolean {
  return OUR_FAULT.has(codeOf(error));
}

export function describe(error: Error): string {
  const code = codeOf(error);
  if (code === BLOCKED || code === CONNECT_TIMEOUT) return error.message;
  // An AggregateError (every address of a name failed) has a code, but no message.
  const meaning = MEANINGS[code] ?? describeTls(code) ?? (error.message === "" ? "no connection" : error.message);
  return code === "" || code.startsWith("UND_") ? meaning : `${meaning} (${code})`;
}

function codeOf(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : "";
}

/** OpenSSL's own message has several lines, with addresses in memory and paths of its build. */
function describeTls(code: string): string | undefined {
  if (!code.startsWith("ERR_SSL_")) return undefined;
  return `the TLS handshake failed: ${code.slice(8).toLowerCase().replaceAll("_", " ")}`;
}
