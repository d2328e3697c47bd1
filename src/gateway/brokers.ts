import { createConnections, type NamedConnection } from "../queues/connections.ts";
import { listConnections } from "../config/connections.ts";
import type { Logger } from "../telemetry/logger.ts";
import type { Start } from "./options.ts";
import type { Storage } from "./storage.ts";

/** Connections to brokers, for sources and destinations. Each is opened when it is first used. */
export type Brokers = ReturnType<typeof openBrokers>;

export function openBrokers({ config, options, logger, parts }: Start, { clock, random }: Storage) {
  const create = options.makers?.createConnections?.(createConnections) ?? createConnections;
  const connections = create({
    connections: listConnections(config),
    label: "posthorn",
    clock,
    random,
    onState: createConnectionNotes(logger),
  });
  parts.add(() => connections.close());
  return { connections };
}

/** An unreachable broker is retried again and again; only a new error is logged. */
function createConnectionNotes(logger: Logger): (connection: NamedConnection) => void {
  const told = new Map<string, string>();
  return ({ kind, name, state }) => {
    const key = `${kind} ${name}`;
    if (state.state === "failed" && told.get(key) !== state.fault.message) {
      told.set(key, state.fault.message);
      logger.warn({ kind, connection: name, reason: state.fault.message }, "a broker is away, trying again");
    }
    if (state.state === "connected" && told.delete(key)) {
      logger.info({ kind, connection: name }, "the broker is there again");
    }
  };
}
