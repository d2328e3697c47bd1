import type { BrokerKind } from "./connection.ts";

/**
 * An exchange or a queue as one line of text. It is shown to people, and used to compare where deliveries go with where
 * messages came from.
 */
export function describeQueue(kind: BrokerKind, connection: string, queue: string): string {
  return `${kind}:${connection}:queue:${queue}`;
}

export function describeExchange(connection: string, exchange: string): string {
  return `amqp:${connection}:exchange:${exchange}`;
}
