import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { PosthornError } from "../domain/errors.ts";
import { isDeeperThan } from "../domain/json-depth.ts";
import type { Once } from "../registry/registry.ts";
import { readIdempotencyKey } from "./idempotency-key.ts";

const MAX_DEPTH = 500;

function fingerprintOf(body: unknown): string {
  // What is nested deeper cannot be written as JSON again.
  if (isDeeperThan(body, MAX_DEPTH)) {
    throw new PosthornError("invalid_field", `The body is nested more than ${MAX_DEPTH} levels deep.`);
  }
  return createHash("sha256").update(JSON.stringify(body)).digest("base64url");
}

/** Undefined for a request without an `Idempotency-Key`. */
export function readOnce(request: FastifyRequest, scope: string, tenantId?: string): Once | undefined {
  const key = readIdempotencyKey(request);
  return key === undefined ? undefined : { scope, key, fingerprint: fingerprintOf(request.body), tenantId };
}
