/** Which requests with an `Idempotency-Key` made what. A mark is written together with what it tells of, or neither is. */
export interface IdempotencyBook {
  findIdempotencyKey(scope: string, key: string): Promise<IdempotencyMark | undefined>;
  /** Forgets those that are older, at most one transaction's worth; resolves to how many. */
  pruneIdempotencyKeys(before: number): Promise<number>;
}

export interface IdempotencyMark {
  scope: string;
  key: string;
  /** Of the request. */
  fingerprint: string;
  madeId: string;
  madeAt: number;
}
