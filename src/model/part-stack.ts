/** Opened parts in order. They are closed in reverse, so that no part is closed while another still uses it. */
export interface PartStack {
  /** Adds the close function of a part that was just opened. It may be called before the part was started. */
  add(close: () => void | Promise<void>): void;
  /** Closes all parts, even when some fail to close; rejects with the first error. */
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
