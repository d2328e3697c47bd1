import { DEFAULT_CONNECTION, type BrokerKind } from "../../model/connection.ts";
import { poisonQueueOf } from "../azure-storage-queue/storage-connection.ts";
import type { ParkedPlace } from "./parked.ts";

/** Where messages of a source are parked. */
export interface SourcePlace extends ParkedPlace {
  kind: BrokerKind;
  connection: string;
}

/** A queue that is bound to a DLX has its routing key as its name; `posthorn queue declare` creates it that way. */
const DEFAULT_AMQP_QUEUE = "webhook.failed";

/** Undefined when the source does not take messages from a broker. */
export function findSourcePlace(kind: string, options: Readonly<Record<string, unknown>>): SourcePlace | undefined {
  const text = (field: string) => (typeof options[field] === "string" ? options[field] : undefined);
  const queue = text("queue") ?? "";
  const connection = text("connection") ?? DEFAULT_CONNECTION;
  switch (kind) {
    case "amqp":
      return { kind, connection, queue, parkedIn: findKey(options["park_to"]) ?? DEFAULT_AMQP_QUEUE };
    case "azure-service-bus":
      return { kind, connection, queue, parkedIn: "" };
    case "azure-storage-queue":
      return { kind, connection, queue, parkedIn: poisonQueueOf(queue) };
    default:
      return undefined;
  }
}

function findKey(parkTo: unknown): string | undefined {
  const { routing_key: key } = (parkTo ?? {}) as { routing_key?: unknown };
  return typeof key === "string" ? key : undefined;
}
