import { BrokerFault, createFaults, DECLARE, findNetworkTrouble, firstLine } from "../broker-fault.ts";

/** `amqp://user:password@host:5672/vhost` without the parts that must not be shown. */
function describePlace(url: string): string {
  const { host, pathname } = new URL(url);
  return pathname === "" || pathname === "/" ? host : `${host}${pathname}`;
}

/** Why a connection cannot be opened, or was lost. */
export function toConnectionFault(error: unknown, url: string): BrokerFault {
  if (error instanceof BrokerFault) return error;
  const fault = createFaults(`RabbitMQ at ${describePlace(url)}`);
  const trouble = findNetworkTrouble(error);
  const text = firstLine(error);
  if (trouble !== undefined) return fault("unreachable", `cannot be reached: ${trouble}.`);
  if (/ACCESS[-_]REFUSED|403/.test(text)) {
    return fault("wrong_credentials", "refuses the user or the password; correct them in the connection's url.");
  }
  // The client drops the broker's message when the broker refuses to open the virtual host.
  if (/NOT[-_]ALLOWED|530|Expected ConnectionOpenOk/.test(text)) {
    const advice = "correct the path of the url.";
    return fault("wrong_credentials", `has no such virtual host, or the user may not use it; ${advice}`);
  }
  return new BrokerFault("unreachable", `The connection to RabbitMQ at ${describePlace(url)} was lost: ${text}.`);
}

/** The broker's reason for closing a channel, with the fix. */
export function toChannelFault(error: unknown): BrokerFault {
  if (error instanceof BrokerFault) return error;
  const fault = createFaults("RabbitMQ");
  const { code } = error as { code?: unknown };
  const text = readReply(error);
  if (code === 403) {
    return fault(
      "not_allowed",
      `does not allow it: ${text}. Give the user that right with \`rabbitmqctl set_permissions\`.`,
    );
  }
  if (code === 404) return fault("not_found", `cannot find it: ${text}. ${DECLARE}`);
  if (code !== 406) return fault("refused", `refuses: ${text}.`);
  const maxBytes = findMaxBytes(error);
  if (maxBytes !== undefined) return fault("too_large", `accepts messages of up to ${maxBytes} bytes: ${text}.`);
  const advice = "`posthorn queue check` lists the differences from what `posthorn queue declare` creates.";
  return fault("different", `refuses: ${text}. ${advice}`);
}

/** `message size 15000001 is larger than configured max size 15000000`; undefined for all other errors. */
export function findMaxBytes(error: unknown): number | undefined {
  const found = /message size \d+ is larger than (?:configured )?max size (\d+)/.exec(readReply(error))?.[1];
  return found === undefined ? undefined : Number(found);
}

/** The broker's own words, extracted from the client's error message. */
export function readReply(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return /with message "(?:[A-Z_]+ - )?(.*)"/s.exec(text)?.[1] ?? firstLine(error);
}

interface Closable {
  close(): Promise<void>;
  once(event: "close", listener: () => void): unknown;
}

/** Closes a channel or connection. If it is lost meanwhile, the package would wait forever for the broker. */
export async function closeAmqp(part: Closable): Promise<void> {
  const isGone = new Promise<void>((resolve) => part.once("close", () => resolve()));
  await Promise.race([part.close(), isGone]);
}
