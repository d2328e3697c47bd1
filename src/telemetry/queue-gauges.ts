import { Gauge, type Registry } from "prom-client";

export interface ConnectionValues {
  kind: string;
  name: string;
  isConnected: boolean;
}

/** The values of a source's queue. */
export interface QueueValues {
  source: string;
  depth: number | undefined;
}

/** Gauges of the connections to brokers and of the queues of sources. */
export function createQueueGauges(registry: Registry) {
  const connected = new Gauge({
    name: "posthorn_broker_connected",
    help: "1 while the connection to a broker works, 0 while it is down; absent before its first use",
    labelNames: ["kind", "connection"],
    registers: [registry],
  });
  const depths = new Gauge({
    name: "posthorn_source_queue_depth",
    help: "Messages that wait in the queue of a source, as its broker counts them",
    labelNames: ["source"],
    registers: [registry],
  });
  return {
    setDepths(queues: readonly QueueValues[]): void {
      depths.reset();
      for (const { source, depth } of queues) if (depth !== undefined) depths.set({ source }, depth);
    },
    setConnections(connections: readonly ConnectionValues[]): void {
      connected.reset();
      for (const { kind, name, isConnected } of connections) {
        connected.set({ kind, connection: name }, isConnected ? 1 : 0);
      }
    },
  };
}
