import type { EventContent } from "../../model/event.ts";
import { Type, type Static } from "typebox";
import { describeExchange, describeQueue } from "../../model/connection.ts";
import type { FieldProblem } from "../../model/subscription-rules.ts";
import { presentOwnRecord } from "../own-record.ts";
import { secretSettings } from "../secret-settings.ts";
import type { DestinationKind } from "../destination-kind.ts";
import {
  checkQueueSettings,
  DEFAULT_CONNECTION,
  prepareQueue,
  presentQueue,
  queueSettings,
  toQueueDestination,
  type QueueDestination,
  type QueueSending,
} from "./settings.ts";

/**
 * Routing keys of RabbitMQ, built from a text in which `{event_type}` and similar placeholders stand for values of the
 * event.
 */

const PLACEHOLDER = /\{([^{}]*)\}/g;
/** The limit of AMQP 0-9-1. */
const MAX_BYTES = 255;

const DEFAULT_ROUTING_KEY = "{event_type}";

const FACTS: Readonly<Record<string, (event: EventContent) => string>> = {
  event_type: ({ type }) => type,
  tenant_id: ({ tenantId }) => tenantId,
  source: ({ source }) => source,
  priority: ({ priority }) => priority,
};

export function findRoutingKeyProblem(template: string): string | undefined {
  for (const [whole, name = ""] of template.matchAll(PLACEHOLDER)) {
    if (Object.hasOwn(FACTS, name)) continue;
    const known = Object.keys(FACTS).map((one) => `{${one}}`);
    return `${whole} is not a placeholder; use one of: ${known.join(", ")}`;
  }
  return undefined;
}

/** Undefined when the key is too long for RabbitMQ. */
export function writeRoutingKey(template: string, event: EventContent): string | undefined {
  const key = template.replaceAll(PLACEHOLDER, (whole, name: string) => FACTS[name]?.(event) ?? whole);
  return Buffer.byteLength(key) <= MAX_BYTES ? key : undefined;
}

const name = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 255, description }));

const AmqpSettings = queueSettings({
  exchange: name("The exchange that messages are published to"),
  queue: name("Or the queue that messages are published to"),
  routing_key: name(
    "With an exchange; `{event_type}` (the default), `{tenant_id}`, `{source}` and `{priority}` stand for the event's",
  ),
});
type AmqpSettings = Static<typeof AmqpSettings>;

interface AmqpDestination extends QueueDestination {
  readonly exchange: string | undefined;
  /** The name of the queue when there is no exchange. */
  readonly routingKey: string;
}

/** The default exchange, whose routing keys are names of queues. */
const DEFAULT_EXCHANGE = "";

export const AMQP_SENDING: QueueSending<AmqpDestination> = {
  kind: "amqp",
  // RabbitMQ confirms many messages at once.
  batch: { maxBatch: 64, lingerMs: 0 },
  address({ exchange = DEFAULT_EXCHANGE, routingKey }, { event }) {
    if (exchange === DEFAULT_EXCHANGE) return { publisher: exchange, subject: routingKey };
    const subject = writeRoutingKey(routingKey, event);
    if (subject === undefined) return "the routing key has more than 255 bytes; choose a shorter routing_key";
    return { publisher: exchange, subject };
  },
  isTopic: ({ exchange }) => exchange !== undefined,
  queueOf: ({ exchange, routingKey }) => (exchange === undefined ? routingKey : undefined),
};

function checkAmqp(settings: AmqpSettings): FieldProblem[] {
  const { exchange, queue, routing_key: key } = settings;
  if ((exchange === undefined) === (queue === undefined)) {
    return [{ field: "exchange", message: "give an exchange or a queue, not both" }];
  }
  if (queue !== undefined && key !== undefined) {
    return [{ field: "routing_key", message: "is only for an exchange; leave it out for a queue" }];
  }
  const problem = key === undefined ? undefined : findRoutingKeyProblem(key);
  return problem === undefined ? checkQueueSettings(settings) : [{ field: "routing_key", message: problem }];
}

/** RabbitMQ: an exchange, or a queue. */
export const AMQP: DestinationKind<AmqpSettings> = {
  name: "amqp",
  settings: AmqpSettings,
  operatorOnly: true,
  queue: {
    // Messages of an exchange spread over queues that others bind to it.
    isCountable: (destination) => ((destination as { exchange?: unknown }).exchange ?? undefined) === undefined,
    maxBytesOf: () => undefined,
  },
  check: checkAmqp,
  prepare(settings) {
    const { exchange, queue = "", routing_key: key = DEFAULT_ROUTING_KEY, connection = DEFAULT_CONNECTION } = settings;
    const place =
      exchange === undefined ? describeQueue("amqp", connection, queue) : describeExchange(connection, exchange);
    const routingKey = exchange === undefined ? queue : key;
    const destination: AmqpDestination = { ...toQueueDestination(settings, place), exchange, routingKey };
    return prepareQueue(destination);
  },
  secrets: secretSettings<AmqpSettings>(["message_key"], ["connection", "exchange", "queue"]),
  present: (settings) => ({
    ...presentQueue(settings),
    ...(settings.exchange === undefined
      ? { queue: settings.queue }
      : { exchange: settings.exchange, routing_key: settings.routing_key ?? DEFAULT_ROUTING_KEY }),
  }),
  presentRecord: presentOwnRecord,
};
