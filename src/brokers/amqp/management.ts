import type { ConnectionInput } from "../../domain/connection.ts";
import { bindingsOf, type AmqpTopology } from "./topology.ts";

/** RabbitMQ's management API over HTTP. If it is enabled, it tells what AMQP does not. */

/** Rejects when there is no answer. */
export type AskManagement = (url: string, authorization: string) => Promise<{ status: number; text: string }>;

export interface BindingReport {
  differences: string[];
  unchecked: string[];
}

const PORTS = { "amqp:": "15672", "amqps:": "15671" } as const;

/** `known`: the differences found before. Missing queues and exchanges have no bindings to check. */
export async function checkBindings(
  input: ConnectionInput,
  topology: AmqpTopology,
  known: readonly string[],
  ask: AskManagement,
): Promise<BindingReport> {
  const { base, authorization, vhost } = findManagement(input);
  const isMissing = (thing: string) => known.includes(`${thing} is missing`);
  const differences: string[] = [];
  try {
    for (const { queue, exchange, key } of bindingsOf(topology)) {
      if (isMissing(`queue ${queue}`) || isMissing(`exchange ${exchange}`)) continue;
      const path = ["api", "bindings", vhost, "e", exchange, "q", queue].map(encodeURIComponent).join("/");
      const { status, text } = await ask(`${base}/${path}`, authorization);
      if (status !== 200) throw new Error(`it answers ${status}`);
      const bound = JSON.parse(text) as { routing_key?: unknown }[];
      if (bound.some((one) => one.routing_key === key)) continue;
      differences.push(`queue ${queue} is not bound to exchange ${exchange} with the key ${key}`);
    }
    return { differences, unchecked: [] };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const unchecked =
      `bindings: AMQP does not tell them, and RabbitMQ's management API at ${new URL(base).host} cannot be used (${why}); ` +
      "set the connection's management_url, or run `posthorn queue declare`, which creates missing bindings";
    return { differences, unchecked: [unchecked] };
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
  const isEncrypted = protocol === "amqps:";
  return new URL(`${isEncrypted ? "https" : "http"}://${hostname}:${PORTS[isEncrypted ? "amqps:" : "amqp:"]}`);
}
