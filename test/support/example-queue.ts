import rhea from "rhea";
import { EXAMPLE } from "../../src/api/openapi/examples.ts";
import { startServiceBus, type ServiceBusServer } from "./service-bus/server.ts";

/** What the examples about parked messages need of a gateway: a source that takes from a queue. */
export interface ExampleQueue {
  /** An item of `sources`; paused, so that nothing is taken. */
  readonly source: string;
  /** Further lines of the yaml. */
  readonly settings: string;
  close(): Promise<void>;
}

const QUEUE = "orders";
const servers = new Set<ServiceBusServer>();

export async function startExampleQueue(): Promise<ExampleQueue> {
  const server = await startServiceBus();
  servers.add(server);
  refillQueue();
  return {
    source: `{ name: ${EXAMPLE.queueSource}, kind: azure-service-bus, status: paused, options: { queue: ${QUEUE} } }`,
    settings: `servicebus_connection_string: "${server.connectionString}"`,
    async close() {
      servers.delete(server);
      await server.stop();
    },
  };
}

/** One message is parked, and nothing else is there. */
export function refillQueue(): string {
  for (const server of servers) {
    const message = {
      message_id: "order-1001",
      subject: "order.created",
      content_type: "application/json",
      application_properties: {
        DeadLetterReason: "invalid",
        DeadLetterErrorDescription: "The body is not well-formed JSON.",
      },
      body: rhea.message.data_section(Buffer.from('{"id": 1001, \n')) as unknown,
    };
    server.createQueue(QUEUE).deadLetters?.send(message);
  }
  return EXAMPLE.queueSource;
}
