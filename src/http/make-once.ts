import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { PosthornError } from "../domain/errors.ts";
import { isDeeperThan } from "../domain/json-depth.ts";
import type { Store } from "../store/store.ts";
import type { IdempotencyMark } from "../store/port/idempotency.ts";
import type { Once } from "../registry/registry.ts";
import { readIdempotencyKey } from "./idempotency-key.ts";

export interface MakeOnceOptions<Made, Found> {
  store: Pick<Store, "findIdempotencyKey">;
  /** What kind of thing, and for whom: keys of different scopes have nothing to do with each other. */
  scope: string;
  wall: number;
  make: (mark: Omit<IdempotencyMark, "madeId"> | undefined) => Promise<Made>;
  /** What an earlier request with this key made; undefined when it is gone. */
  find: (id: string) => Promise<Found | undefined>;
}

/** Carries a request with an `Idempotency-Key` out once; whoever sends it again gets what the first one made. */
export async function makeOnce<Made, Found>(
  request: FastifyRequest,
  options: MakeOnceOptions<Made, Found>,
): Promise<{ made: Made } | { found: Found }> {
  const { store, scope, make, find } = options;
  const key = readIdempotencyKey(request);
  if (key === undefined) return { made: await make(undefined) };
  const fingerprint = fingerprintOf(request.body);

  async function findEarlier(): Promise<{ found: Found } | undefined> {
    const earlier = await store.findIdempotencyKey(scope, key as string);
    if (earlier === undefined) return undefined;
    if (earlier.fingerprint !== fingerprint) {
      throw new PosthornError(
        "idempotency_key_reused",
        "This Idempotency-Key came with another request; use a new one.",
      );
    }
    const found = await find(earlier.madeId);
    if (found !== undefined) return { found };
    throw new PosthornError("conflict", "What this Idempotency-Key made was deleted since; use a new one.");
  }

  const earlier = await findEarlier();
  if (earlier !== undefined) return earlier;
  try {
    return { made: await make({ scope, key, fingerprint, madeAt: options.wall }) };
  } catch (error) {
    // Another with the same key may have been faster.
    const faster = await findEarlier();
    if (faster !== undefined) return faster;
    throw error;
  }
}

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
