interface Closable {
  close(): Promise<void>;
  once(event: "close", listener: () => void): unknown;
}

/**
 * Closes a channel or a connection. If it is lost meanwhile, the package would wait forever for the broker to agree.
 */
export async function closeAmqp(part: Closable): Promise<void> {
  const isGone = new Promise<void>((resolve) => part.once("close", () => resolve()));
  await Promise.race([part.close(), isGone]);
}
