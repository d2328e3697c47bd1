const CREDENTIAL =
  /auth|cookie|token|secret|passw|credential|session|jwt|(?:api|access|private|subscription|functions|message)[-_]?key/i;
const MAX_CACHED_NAMES = 1000;
/** A cache, because header names repeat from request to request. */
const cache = new Map<string, boolean>();

/** Whether a header's name suggests a secret: such values are masked, and not sent on to another origin. */
export function isCredentialHeader(name: string): boolean {
  let isCredential = cache.get(name);
  if (isCredential === undefined) {
    isCredential = CREDENTIAL.test(name);
    if (cache.size >= MAX_CACHED_NAMES) cache.clear();
    cache.set(name, isCredential);
  }
  return isCredential;
}
