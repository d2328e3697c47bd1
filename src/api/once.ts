import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { PosthornError } from "../model/errors.ts";
import { isDeeperThan } from "../model/json.ts";
import type { Caller } from "../resources/keys.ts";
import type { Once } from "../resources/registry.ts";

const KEY = /^[\x21-\x7e]{1,255}$/;
const MAX_DEPTH = 500;

/** The `Idempotency-Key` with which a client makes sure that a repeated request is carried out only once. */
export function readIdempotencyKey(request: FastifyRequest): string | undefined {
  const key = request.headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (typeof key === "string" && KEY.test(key)) return key;
  throw new PosthornError("invalid_field", "Idempotency-Key: must be 1 to 255 printable ASCII characters.", {
    field: "Idempotency-Key",
  });
}

/** Undefined for a request without an `Idempotency-Key`. */
export function readOnce(request: FastifyRequest, scope: string, tenantId?: string): Once | undefined {
  const key = readIdempotencyKey(request);
  return key === undefined ? undefined : { scope, key, fingerprint: fingerprintOf(request.body), tenantId };
}

/**
 * The scope of keys for things of a tenant. A caller that is bound to the tenant has another one than operators: the
 * answer to a repeated request may contain a secret of what an operator has created.
 */
export function onceScope(things: string, tenantId: string, caller: Pick<Caller, "tenantId"> | undefined): string {
  return `${caller?.tenantId === undefined ? "" : "bound "}${things} ${tenantId}`;
}

function fingerprintOf(body: unknown): string {
  // A body that is nested deeper cannot be written as JSON again.
  if (isDeeperThan(body, MAX_DEPTH)) {
    throw new PosthornError("invalid_field", `The body is nested more than ${MAX_DEPTH} levels deep.`);
  }
  return createHash("sha256").update(JSON.stringify(body)).digest("base64url");
}
