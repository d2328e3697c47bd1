/** What an error of a socket, of the DNS or of the gateway itself means, in words for users. */

/** Errors with such a code have a message for users already. */
const OURS = "POSTHORN_";
/** The code for: the guard refused the address, and nothing was sent. */
export const BLOCKED = "POSTHORN_BLOCKED";
export const CONNECT_TIMEOUT = "POSTHORN_CONNECT_TIMEOUT";
/** The address of a name could not be found. */
export const LOOKUP_FAULT = "POSTHORN_LOOKUP_FAULT";
/** The egress proxy failed or refused: nothing is known about the destination. */
export const PROXY_FAULT = "POSTHORN_PROXY_FAULT";
/** The connection ended before the answer was complete. */
export const ANSWER_CUT = "POSTHORN_ANSWER_CUT";
/** The received bytes are not an answer, or far too many. */
export const ANSWER_BROKEN = "POSTHORN_ANSWER_BROKEN";
export const ANSWER_TOO_LONG = "POSTHORN_ANSWER_TOO_LONG";

export function codedError(code: string, message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code });
}

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

/** `error`: our proxy failed, and nothing is known about the destination. */
export function kindOf(error: Error): "blocked" | "error" | "unreachable" {
  const code = codeOf(error);
  if (code === PROXY_FAULT) return "error";
  return code === BLOCKED ? "blocked" : "unreachable";
}

export function isLostConnection(error: Error): boolean {
  return LOST_CONNECTION.has(codeOf(error));
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

/** OpenSSL's own message has several lines, with memory addresses and build paths. */
function describeTls(code: string): string | undefined {
  if (!code.startsWith("ERR_SSL_")) return undefined;
  return `the TLS handshake failed: ${code.slice(8).toLowerCase().replaceAll("_", " ")}`;
}
