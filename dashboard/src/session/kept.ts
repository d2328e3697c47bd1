/** What the browser keeps for this page. In a frame a browser may not allow it: then the page works, and forgets. */
export function readKept(store: () => Storage, key: string): string | undefined {
  try {
    return store().getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Undefined removes it. */
export function writeKept(store: () => Storage, key: string, value: string | undefined): void {
  try {
    if (value === undefined) store().removeItem(key);
    else store().setItem(key, value);
  } catch {
    // It stays in memory.
  }
}
