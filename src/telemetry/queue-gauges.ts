import { Gauge, type Registry } from "prom-client";

export interface ConnectionValues {
  kind: string;
  name: string;
  isConnected: boolean;
}

/** How the connections to brokers are. */
export function createQueueGauges(registry: Registry) {
  const connected = new Gauge({
    name: "posthorn_broker_connected",
    help: "1 while the connection to a broker works, 0 while it is away or was not used yet",
    labelNames: ["kind", "connection"],
    registers: [registry],
  });
  return {
    setConnections(connections: readonly ConnectionValues[]): void {
      connected.reset();
      for (const { kind, name, isConnected } of connections) {
        connected.set({ kind, connection: name }, isConnected ? 1 : 0);
      }
    },
  };
}
