import type { FastifyRequest } from "fastify";
import { PosthornError } from "../domain/errors.ts";

const KEY = /^[\x21-\x7e]{1,255}$/;

/** What a client sends to make sure that a request which it repeats is carried out once. */
export function readIdempotencyKey(request: FastifyRequest): string | undefined {
  const key = request.headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (typeof key === "string" && KEY.test(key)) return key;
  throw new PosthornError("invalid_field", "Idempotency-Key: must be 1 to 255 printable ASCII characters.", {
    field: "Idempotency-Key",
  });
}
