/** What was opened, in its order. It is closed in reverse, so that nothing is closed under what still uses it. */
export interface PartStack {
  /** How to close what was just opened. It may be called without the part having been started. */
  add(close: () => void | Promise<void>): void;
  /** Closes all, whatever becomes of each; rejects with the first fault. */
  close(): Promise<void>;
}

export function createPartStack(): PartStack {
  const parts: (() => void | Promise<void>)[] = [];
  let closing: Promise<void> | undefined;

  async function closeAll(): Promise<void> {
    const faults: unknown[] = [];
    for (let close = parts.pop(); close !== undefined; close = parts.pop()) {
      try {
        await close();
      } catch (error) {
        faults.push(error);
      }
    }
    if (faults.length > 0) throw faults[0];
  }

  return {
    add: (close) => void parts.push(close),
    close: () => (closing ??= closeAll()),
  };
}
