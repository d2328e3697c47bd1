import type { Channel, ChannelModel } from "amqplib";
import type { Findings } from "../broker.ts";
import { BrokerFault } from "../broker-fault.ts";
import { toChannelFault, readReply } from "./amqp-fault.ts";

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

/** AMQP cannot read bindings: only `declare` makes sure that they exist. */
export async function checkTopology(model: ChannelModel, topology: AmqpTopology): Promise<Findings> {
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

/**
 * AMQP does not tell the arguments of an existing queue or exchange, but refuses a declaration with others and names
 * the first difference. So each named value is adopted and the declaration repeated until nothing differs.
 */

type Wish = ExchangeWish | QueueWish;
type Named = Pick<Wish, "thing" | "name">;

const MAX_DIFFERENCES = 10;

/** Undefined when the user may not declare it, and so cannot compare its arguments. */
async function describeDifferences(model: ChannelModel, wish: Wish): Promise<string[] | undefined> {
  if (!(await isPresent(model, wish))) return [`${wish.thing} ${wish.name} is missing`];
  const differences: string[] = [];
  let asked = toAsked(wish);
  while (differences.length < MAX_DIFFERENCES) {
    const reply = await tryOut(model, (channel) => declare(channel, wish, asked)).catch(orForbidden);
    if (reply === FORBIDDEN) return undefined;
    if (reply === undefined) break;
    const difference = readDifference(reply);
    if (difference === undefined) return [...differences, `${wish.thing} ${wish.name} cannot be compared: ${reply}`];
    const { argument, current } = difference;
    const wanted = findAsked(toAsked(wish), argument);
    differences.push(
      `${wish.thing} ${wish.name}: ${argument} is ${show(current)}, but should be ${show(wanted)}; delete the ` +
        `${wish.thing} and declare it again, or configure the existing value`,
    );
    asked = adopt(asked, argument, current);
  }
  return differences;
}

const FORBIDDEN = Symbol("forbidden");

function orForbidden(error: unknown): typeof FORBIDDEN {
  if (error instanceof BrokerFault && error.kind === "not_allowed") return FORBIDDEN;
  throw error;
}

async function isPresent(model: ChannelModel, { thing, name }: Named): Promise<boolean> {
  const reply = await tryOut(
    model,
    (channel) => (thing === "queue" ? channel.checkQueue(name) : channel.checkExchange(name)),
    404,
  );
  return reply === undefined;
}

interface Asked {
  type: string;
  durable: boolean;
  autoDelete: boolean;
  arguments: Record<string, string | number>;
}

function toAsked(wish: Wish): Asked {
  return {
    type: wish.thing === "exchange" ? wish.type : "",
    durable: true,
    autoDelete: false,
    arguments: { ...wish.arguments },
  };
}

function declare(channel: Channel, { thing, name }: Named, { type, ...options }: Asked): Promise<unknown> {
  return thing === "queue" ? channel.assertQueue(name, options) : channel.assertExchange(name, type, options);
}

/** Undefined when the broker agrees; otherwise its answer. */
async function tryOut(
  model: ChannelModel,
  act: (channel: Channel) => Promise<unknown>,
  expected = 406,
): Promise<string | undefined> {
  const channel = await model.createChannel();
  // The rejection of the call reports the error.
  channel.on("error", () => undefined);
  try {
    await act(channel);
  } catch (error) {
    if ((error as { code?: unknown }).code === expected) return readReply(error);
    throw toChannelFault(error);
  }
  await channel.close();
  return undefined;
}

type Current = string | number | boolean | undefined;

/** `inequivalent arg 'x' for queue 'q' in vhost 'v': received the value '1' of type 'long' but current is none`. */
function readDifference(reply: string): { argument: string; current: Current } | undefined {
  const [, argument, current] = /inequivalent arg '([^']+)'.* but current is (.*)$/s.exec(reply) ?? [];
  if (argument === undefined || current === undefined) return undefined;
  if (current === "none") return { argument, current: undefined };
  const [, value = "", type = ""] = /^(?:the value )?'([^']*)'(?: of type '([^']*)')?/.exec(current) ?? [];
  if (value === "true" || value === "false") return { argument, current: value === "true" };
  return { argument, current: /int|long$|short|byte|float|double|decimal/.test(type) ? Number(value) : value };
}

function findAsked(asked: Asked, argument: string): Current {
  if (argument === "type") return asked.type;
  if (argument === "durable") return asked.durable;
  if (argument === "auto_delete") return asked.autoDelete;
  return asked.arguments[argument];
}

function adopt(asked: Asked, argument: string, current: Current): Asked {
  if (argument === "type") return { ...asked, type: String(current) };
  if (argument === "durable") return { ...asked, durable: current === true };
  if (argument === "auto_delete") return { ...asked, autoDelete: current === true };
  const { [argument]: _, ...others } = asked.arguments;
  if (current === undefined || typeof current === "boolean") return { ...asked, arguments: others };
  return { ...asked, arguments: { ...others, [argument]: current } };
}

function show(value: Current): string {
  return value === undefined ? "not set" : JSON.stringify(value);
}
