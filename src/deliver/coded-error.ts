/** The code of errors that mean: the guard said no, and nothing was sent. */
export const BLOCKED = "POSTHORN_BLOCKED";
export const CONNECT_TIMEOUT = "POSTHORN_CONNECT_TIMEOUT";
/** The egress proxy is at fault, or says that it cannot: nothing is known about the destination. */
export const PROXY_FAULT = "POSTHORN_PROXY_FAULT";

export function codedError(code: string, message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code });
}
