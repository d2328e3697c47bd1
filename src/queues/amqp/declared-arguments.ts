import type { Channel, ChannelModel } from "amqplib";
import { BrokerFault } from "../broker-fault.ts";
import { readReply, toChannelFault } from "./amqp-fault.ts";
import type { ExchangeWish, QueueWish } from "./topology.ts";

/**
 * AMQP does not tell the arguments of an existing queue or exchange, but refuses a declaration with others and names
 * the first difference. So each named value is adopted and the declaration repeated until nothing differs.
 */

type Wish = ExchangeWish | QueueWish;
type Named = Pick<Wish, "thing" | "name">;

const MAX_DIFFERENCES = 10;

/** Undefined when the user may not declare it, and so cannot compare its arguments. */
export async function describeDifferences(model: ChannelModel, wish: Wish): Promise<string[] | undefined> {
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

export async function isPresent(model: ChannelModel, { thing, name }: Named): Promise<boolean> {
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
