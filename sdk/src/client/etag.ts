const etags = new WeakMap<object, string>();

export function noteEtag(answer: unknown, headers: Headers): void {
  const etag = headers.get("etag");
  if (etag !== null && typeof answer === "object" && answer !== null) etags.set(answer, etag);
}

/** Which version an answer of the client shows, for `ifMatch`. Undefined for what has none, and for copies. */
export function etagOf(answer: object): string | undefined {
  return etags.get(answer);
}
