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

interface Named {
  thing: "exchange" | "queue";
  name: string;
}

/** Settings as RabbitMQ names them in its answers: those of its protocol, and arguments, which begin with `x-`. */
type Settings = Readonly<Record<string, string | number | boolean>>;

/** An exchange or a queue as it is declared. */
interface Part extends Named {
  settings: Settings;
}

interface Binding {
  queue: string;
  exchange: string;
  key: string;
}

/** Of the plugin for delayed messages. */
export const DELAYED_TYPE = "x-delayed-message";

const FAILED_KEY = "webhook.failed";

const DURABLE = { durable: true, auto_delete: false };

/** The exchanges, then the queues. */
export function partsOf(
  { namespace, queueType, notifications, queues = [] }: AmqpTopology,
  serverVersion: string,
): Part[] {
  const exchange = (name: string, type: string): Part => ({
    thing: "exchange",
    name: `${namespace}.${name}`,
    settings: { ...DURABLE, type },
  });
  const queue = (name: string, more: Settings = {}): Part => ({
    thing: "queue",
    name,
    settings: { ...DURABLE, ...typeArguments(queueType, serverVersion), ...more },
  });
  const parking = { "x-dead-letter-exchange": `${namespace}.dlx`, "x-dead-letter-routing-key": FAILED_KEY };
  return [
    exchange("events", "topic"),
    exchange("webhooks", "direct"),
    exchange("dlx", "direct"),
    queue("webhook.delivery", parking),
    queue("webhook.failed"),
    ...notifications.map((name) => queue(`notification.${name}`)),
    ...queues.map((name) => queue(name, parking)),
  ];
}

export function bindingsOf({ namespace, notifications }: AmqpTopology): Binding[] {
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
function typeArguments(queueType: AmqpTopology["queueType"], serverVersion: string): Settings {
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
  await declareDelayed(`${topology.namespace}.delayed`, model, connect);
  await onChannel(model, async (channel) => {
    for (const part of partsOf(topology, versionOf(model))) await declare(channel, part);
    for (const { queue, exchange, key } of bindingsOf(topology)) await channel.bindQueue(queue, exchange, key);
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
  const differences: string[] = [];
  const delayed = { thing: "exchange", name: `${topology.namespace}.delayed` } as const;
  if (!(await isPresent(model, delayed))) differences.push(`exchange ${delayed.name} is missing`);
  const forbidden: string[] = [];
  for (const part of partsOf(topology, versionOf(model))) {
    const found = await describeDifferences(model, part);
    if (found === undefined) forbidden.push(`${part.thing} ${part.name}`);
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

const MAX_DIFFERENCES = 10;

/** Undefined when the user may not declare it, and so cannot compare its arguments. */
async function describeDifferences(model: ChannelModel, part: Part): Promise<string[] | undefined> {
  const { thing, name, settings } = part;
  if (!(await isPresent(model, part))) return [`${thing} ${name} is missing`];
  const differences: string[] = [];
  const asked = new Map(Object.entries(settings));
  while (differences.length < MAX_DIFFERENCES) {
    const tried = { thing, name, settings: Object.fromEntries(asked) };
    const reply = await tryOut(model, (channel) => declare(channel, tried)).catch(orForbidden);
    if (reply === FORBIDDEN) return undefined;
    if (reply === undefined) break;
    const difference = readDifference(reply);
    if (difference === undefined) return [...differences, `${thing} ${name} cannot be compared: ${reply}`];
    const { setting, current } = difference;
    differences.push(
      `${thing} ${name}: ${setting} is ${show(current)}, but should be ${show(settings[setting])}; delete the ` +
        `${thing} and declare it again, or configure the existing value`,
    );
    if (current === undefined) asked.delete(setting);
    else asked.set(setting, current);
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

function declare(channel: Channel, { thing, name, settings }: Part): Promise<unknown> {
  const { type, durable, auto_delete: autoDelete, ...rest } = settings;
  const options = { durable: durable === true, autoDelete: autoDelete === true, arguments: rest };
  return thing === "queue" ? channel.assertQueue(name, options) : channel.assertExchange(name, String(type), options);
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
function readDifference(reply: string): { setting: string; current: Current } | undefined {
  const [, setting, current] = /inequivalent arg '([^']+)'.* but current is (.*)$/s.exec(reply) ?? [];
  if (setting === undefined || current === undefined) return undefined;
  if (current === "none") return { setting, current: undefined };
  const [, value = "", type = ""] = /^(?:the value )?'([^']*)'(?: of type '([^']*)')?/.exec(current) ?? [];
  if (value === "true" || value === "false") return { setting, current: value === "true" };
  return { setting, current: /int|long$|short|byte|float|double|decimal/.test(type) ? Number(value) : value };
}

function show(value: Current): string {
  return value === undefined ? "not set" : JSON.stringify(value);
}
