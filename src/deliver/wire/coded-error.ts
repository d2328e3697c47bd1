/** With these codes an error says itself, in words for users, what it is. */
export const OURS = "POSTHORN_";
/** The code of errors that mean: the guard said no, and nothing was sent. */
export const BLOCKED = "POSTHORN_BLOCKED";
export const CONNECT_TIMEOUT = "POSTHORN_CONNECT_TIMEOUT";
/** The address of a name could not be found out. */
export const LOOKUP_FAULT = "POSTHORN_LOOKUP_FAULT";
/** The egress proxy is at fault, or says that it cannot: nothing is known about the destination. */
export const PROXY_FAULT = "POSTHORN_PROXY_FAULT";
/** The connection ended before the answer did. */
export const ANSWER_CUT = "POSTHORN_ANSWER_CUT";
/** What came is no answer, or none that anybody needs. */
export const ANSWER_BROKEN = "POSTHORN_ANSWER_BROKEN";
export const ANSWER_TOO_LONG = "POSTHORN_ANSWER_TOO_LONG";

export function codedError(code: string, message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code });
}
