import type { ConnectionInput } from "../../model/connection.ts";
import type { Findings } from "../broker.ts";
import { bindingsOf, DELAYED_TYPE, type AmqpTopology } from "./topology.ts";

/** RabbitMQ's management API over HTTP. If it is enabled, it tells what AMQP does not. */

/** Rejects when there is no answer. */
export type AskManagement = (url: string, authorization: string) => Promise<{ status: number; text: string }>;

/**
 * Compares what AMQP does not tell: bindings, and the type of the exchange for delayed messages. `known`: the differences
 * found before. Missing queues and exchanges have nothing to compare.
 */
export async function checkByManagement(
  input: ConnectionInput,
  topology: AmqpTopology,
  known: readonly string[],
  ask: AskManagement,
): Promise<Findings> {
  const { base, authorization, vhost } = findManagement(input);
  const delayed = `${topology.namespace}.delayed`;
  const differences: string[] = [];
  let areBindingsCompared = false;

  const isMissing = (part: string) => known.includes(`${part} is missing`);

  async function load(...path: string[]): Promise<unknown> {
    const { status, text } = await ask(`${base}/api/${path.map(encodeURIComponent).join("/")}`, authorization);
    if (status !== 200) throw new Error(`it answers ${status}`);
    return JSON.parse(text) as unknown;
  }

  async function compareBindings(): Promise<void> {
    for (const { queue, exchange, key } of bindingsOf(topology)) {
      if (isMissing(`queue ${queue}`) || isMissing(`exchange ${exchange}`)) continue;
      const bound = (await load("bindings", vhost, "e", exchange, "q", queue)) as { routing_key?: unknown }[];
      if (bound.some((one) => one.routing_key === key)) continue;
      differences.push(`queue ${queue} is not bound to exchange ${exchange} with the key ${key}`);
    }
  }

  /** `declare` leaves an exchange as it is, also one from before the plugin was installed. */
  async function compareDelayed(): Promise<void> {
    const { type, arguments: given } = (await load("exchanges", vhost, delayed)) as {
      type?: unknown;
      arguments?: Readonly<Record<string, unknown>>;
    };
    const { exchange_types: types } = (await load("overview")) as { exchange_types?: readonly { name?: unknown }[] };
    if (types === undefined) throw new Error("it does not list the types of exchanges that RabbitMQ has");
    const hasPlugin = types.some((one) => one.name === DELAYED_TYPE);
    const wanted = hasPlugin ? DELAYED_TYPE : "direct";
    const advice = "delete the exchange and run `posthorn queue declare`";
    if (type !== wanted) {
      const why = `RabbitMQ ${hasPlugin ? "has" : "does not have"} the plugin for delayed messages`;
      differences.push(
        `exchange ${delayed}: type is ${JSON.stringify(type)}, but should be "${wanted}" (${why}); ${advice}`,
      );
    } else if (hasPlugin && given?.["x-delayed-type"] !== "direct") {
      const routing = JSON.stringify(given?.["x-delayed-type"]);
      differences.push(`exchange ${delayed}: x-delayed-type is ${routing}, but should be "direct"; ${advice}`);
    }
  }

  try {
    await compareBindings();
    areBindingsCompared = true;
    if (!isMissing(`exchange ${delayed}`)) await compareDelayed();
    return { differences, unchecked: [] };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const trouble = `RabbitMQ's management API at ${new URL(base).host} cannot be used (${why}); set the connection's management_url`;
    const bindings = `bindings: AMQP does not tell them, and ${trouble}, or run \`posthorn queue declare\`, which creates missing bindings`;
    const type = `type of the exchange ${delayed}: AMQP does not tell it, and ${trouble}`;
    return { differences, unchecked: areBindingsCompared ? [type] : [bindings, type] };
  }
}

/** The configured URL, or the default one; with the user of the AMQP URL. */
function findManagement({ url = "", management_url: configured }: ConnectionInput) {
  const broker = new URL(url);
  const place = configured === undefined ? guess(broker) : new URL(configured);
  const { username, password } = place.username === "" ? broker : place;
  const credentials = `${decodeURIComponent(username) || "guest"}:${decodeURIComponent(password) || "guest"}`;
  return {
    base: `${place.origin}${place.pathname.replace(/\/+$/, "")}`,
    authorization: `Basic ${Buffer.from(credentials, "utf8").toString("base64")}`,
    vhost: decodeURIComponent(broker.pathname.slice(1)) || "/",
  };
}

/** When AMQP is encrypted, the password goes to the management API encrypted too. */
function guess({ protocol, hostname }: URL): URL {
  return new URL(protocol === "amqps:" ? `https://${hostname}:15671` : `http://${hostname}:15672`);
}
