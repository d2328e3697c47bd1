/** What is compiled on the loop once somebody has asked for it; "apart": it is too large for that, or cannot be. */
export interface Compilable<Compiled> {
  compiled: Compiled | "apart" | undefined;
}

/** Compiles one document a turn, so that what waits for the loop waits for one at most. */
export function createCompileQueue<Compiled, Document extends Compilable<Compiled>>(
  compile: (document: Document) => Promise<Compiled | "apart">,
): (document: Document) => void {
  const waiting = new Set<Document>();

  async function work(): Promise<void> {
    for (const next of waiting) {
      next.compiled = await compile(next).catch(() => "apart" as const);
      await new Promise(setImmediate);
      // Not before: an empty set says that nobody is at work.
      waiting.delete(next);
    }
  }

  return (document) => {
    const isIdle = waiting.size === 0;
    waiting.add(document);
    if (isIdle) void work();
  };
}
