/** Documents that are compiled on the event loop on demand; "apart": too large for that, or not possible. */
export interface Compilable<Compiled> {
  compiled: Compiled | "apart" | undefined;
}

/** Compiles one document per turn, so that other work waits for one at most. */
export function createCompileQueue<Compiled, Document extends Compilable<Compiled>>(
  compile: (document: Document) => Promise<Compiled | "apart">,
): (document: Document) => void {
  const waiting = new Set<Document>();

  async function work(): Promise<void> {
    for (const next of waiting) {
      next.compiled = await compile(next).catch(() => "apart" as const);
      await new Promise(setImmediate);
      // Not earlier: an empty set means that no compilation is running.
      waiting.delete(next);
    }
  }

  return (document) => {
    const isIdle = waiting.size === 0;
    waiting.add(document);
    if (isIdle) void work();
  };
}
