import type { BrokerKind } from "./connection.ts";

/**
 * An exchange or a queue, in one line: where deliveries go and where messages came from are compared by it, and it is
 * shown to people.
 */
export function describeQueue(kind: BrokerKind, connection: string, queue: string): string {
  return `${kind}:${connection}:queue:${queue}`;
}

export function describeExchange(connection: string, exchange: string): string {
  return `amqp:${connection}:exchange:${exchange}`;
}
