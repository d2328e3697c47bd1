import type { Channel, ChannelModel } from "amqplib";
import type { BrokerFault } from "../broker-fault.ts";
import { describeDifferences, isPresent } from "./declared-arguments.ts";
import { toChannelFault } from "./amqp-fault.ts";

/** The exchanges and queues of a bus, under a namespace. */
export interface AmqpTopology {
  namespace: string;
  queueType: "quorum" | "classic";
  /** Only queues that something consumes; other queues are left to their consumers. */
  notifications: readonly ("email" | "sms")[];
  /** Additional queues, which are bound to nothing here. */
  queues?: readonly string[];
  /** Exchanges of others, which are checked and never created. */
  foreignExchanges?: readonly string[];
}

export interface ExchangeWish {
  thing: "exchange";
  name: string;
  type: string;
  arguments: Readonly<Record<string, string | number>>;
}

export interface QueueWish {
  thing: "queue";
  name: string;
  arguments: Readonly<Record<string, string | number>>;
}

export interface BindingWish {
  queue: string;
  exchange: string;
  key: string;
}

interface Wishes {
  exchanges: ExchangeWish[];
  queues: QueueWish[];
  bindings: BindingWish[];
}

/** Of the plugin for delayed messages. */
export const DELAYED_TYPE = "x-delayed-message";

const FAILED_KEY = "webhook.failed";

export function wishesOf(
  { namespace, queueType, notifications, queues = [] }: AmqpTopology,
  serverVersion: string,
): Wishes {
  const exchange = (name: string, type: string): ExchangeWish => ({
    thing: "exchange",
    name: `${namespace}.${name}`,
    type,
    arguments: {},
  });
  const queue = (name: string, more: Record<string, string>): QueueWish => ({
    thing: "queue",
    name,
    arguments: { ...typeArguments(queueType, serverVersion), ...more },
  });
  const parking = { "x-dead-letter-exchange": `${namespace}.dlx`, "x-dead-letter-routing-key": FAILED_KEY };
  return {
    exchanges: [exchange("events", "topic"), exchange("webhooks", "direct"), exchange("dlx", "direct")],
    queues: [
      queue("webhook.delivery", parking),
      queue("webhook.failed", {}),
      ...notifications.map((name) => queue(`notification.${name}`, {})),
      ...queues.map((name) => queue(name, parking)),
    ],
    bindings: bindingsOf({ namespace, notifications }),
  };
}

export function bindingsOf({
  namespace,
  notifications,
}: Pick<AmqpTopology, "namespace" | "notifications">): BindingWish[] {
  const names = notifications.map((name) => `notification.${name}`);
  return [
    { queue: "webhook.delivery", exchange: `${namespace}.webhooks`, key: "webhook.*" },
    { queue: "webhook.delivery", exchange: `${namespace}.events`, key: "#" },
    { queue: "webhook.delivery", exchange: `${namespace}.delayed`, key: "webhook.retry" },
    { queue: "webhook.failed", exchange: `${namespace}.dlx`, key: FAILED_KEY },
    ...names.map((name) => ({ queue: name, exchange: `${namespace}.events`, key: name })),
  ];
}

/** A classic queue is declared without its type, because other programs declare it that way. */
function typeArguments(queueType: AmqpTopology["queueType"], serverVersion: string): Record<string, string | number> {
  if (queueType === "classic") return {};
  // Since 4.0, the broker drops or parks messages that were delivered 20 times; here the gateway decides that.
  const countsByItself = Number.parseInt(serverVersion, 10) >= 4;
  return { "x-queue-type": "quorum", ...(countsByItself && { "x-delivery-limit": -1 }) };
}

export async function declareTopology(
  model: ChannelModel,
  topology: AmqpTopology,
  connect: () => Promise<ChannelModel>,
): Promise<void> {
  const { exchanges, queues, bindings } = wishesOf(topology, versionOf(model));
  await declareDelayed(`${topology.namespace}.delayed`, model, connect);
  await onChannel(model, async (channel) => {
    for (const one of exchanges) await channel.assertExchange(one.name, one.type, { durable: true });
    for (const one of queues) await channel.assertQueue(one.name, { durable: true, arguments: one.arguments });
    for (const one of bindings) await channel.bindQueue(one.queue, one.exchange, one.key);
  });
}

/**
 * With the plugin for delayed messages if RabbitMQ has it, otherwise direct. RabbitMQ closes the whole connection when
 * it does not know the type of an exchange, so this is tried on a separate connection.
 */
async function declareDelayed(name: string, model: ChannelModel, connect: () => Promise<ChannelModel>): Promise<void> {
  if (await isPresent(model, { thing: "exchange", name })) return;
  const own = await connect();
  const closed = new Promise((resolve) => own.once("close", resolve));
  own.on("error", () => undefined);
  try {
    const channel = await own.createChannel();
    channel.on("error", () => undefined);
    await channel.assertExchange(name, DELAYED_TYPE, {
      durable: true,
      arguments: { "x-delayed-type": "direct" },
    });
  } catch {
    await onChannel(model, (channel) => channel.assertExchange(name, "direct", { durable: true }));
  }
  await own.close().catch(() => undefined);
  await closed;
}

/** One sentence for each finding. */
export interface TopologyFindings {
  /** What is missing or different. */
  differences: string[];
  /** What could not be checked, and why. */
  unchecked: string[];
}

/** AMQP cannot read bindings: only `declare` makes sure that they exist. */
export async function checkTopology(model: ChannelModel, topology: AmqpTopology): Promise<TopologyFindings> {
  const { exchanges, queues } = wishesOf(topology, versionOf(model));
  const differences: string[] = [];
  const delayed = { thing: "exchange", name: `${topology.namespace}.delayed` } as const;
  if (!(await isPresent(model, delayed))) differences.push(`exchange ${delayed.name} is missing`);
  const forbidden: string[] = [];
  for (const wish of [...exchanges, ...queues]) {
    const found = await describeDifferences(model, wish);
    if (found === undefined) forbidden.push(`${wish.thing} ${wish.name}`);
    else differences.push(...found);
  }
  for (const name of topology.foreignExchanges ?? []) {
    if (await isPresent(model, { thing: "exchange", name })) continue;
    differences.push(`exchange ${name} is missing; it is not one of ours, so its owner must create it`);
  }
  const unchecked =
    `arguments: ${forbidden.join(", ")}: they exist, but only a user who may configure them can compare their arguments; ` +
    "give the user that right with `rabbitmqctl set_permissions`, or run this as another user";
  return { differences, unchecked: forbidden.length === 0 ? [] : [unchecked] };
}

function versionOf(model: ChannelModel): string {
  return model.connection.serverProperties.version;
}

async function onChannel(model: ChannelModel, act: (channel: Channel) => Promise<unknown>): Promise<void> {
  const channel = await model.createChannel();
  let fault: BrokerFault | undefined;
  channel.on("error", (error) => (fault = toChannelFault(error)));
  try {
    await act(channel);
    await channel.close();
  } catch (error) {
    throw fault ?? toChannelFault(error);
  }
}
