import type { IncomingMessage } from "node:http";

/** From `Authorization: Bearer KEY` or `x-api-key`. */
export function readKey(request: IncomingMessage): string | undefined {
  const { authorization } = request.headers;
  if (authorization !== undefined && /^bearer /i.test(authorization)) return authorization.slice(7).trim();
  const key = request.headers["x-api-key"];
  return typeof key === "string" ? key : undefined;
}
