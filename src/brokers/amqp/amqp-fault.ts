import { BrokerFault, findNetworkTrouble, firstLine } from "../broker-fault.ts";

/** `amqp://user:password@host:5672/vhost` without what must not be shown. */
function describePlace(url: string): string {
  const { host, pathname } = new URL(url);
  return pathname === "" || pathname === "/" ? host : `${host}${pathname}`;
}

/** Why there is no connection, or none any more. */
export function toConnectionFault(error: unknown, url: string): BrokerFault {
  const place = describePlace(url);
  const trouble = findNetworkTrouble(error);
  const text = firstLine(error);
  if (trouble !== undefined) {
    return new BrokerFault("unreachable", `RabbitMQ at ${place} cannot be reached: ${trouble}.`);
  }
  if (/ACCESS[-_]REFUSED|403/.test(text)) {
    return new BrokerFault(
      "wrong_credentials",
      `RabbitMQ at ${place} refuses the user or the password; correct them in the connection's url.`,
    );
  }
  // The client swallows what the broker says when it refuses to open the virtual host.
  if (/NOT[-_]ALLOWED|530|Expected ConnectionOpenOk/.test(text)) {
    return new BrokerFault(
      "wrong_credentials",
      `RabbitMQ at ${place} has no such virtual host, or the user may not use it; correct the path of the url.`,
    );
  }
  return new BrokerFault("unreachable", `The connection to RabbitMQ at ${place} was lost: ${text}.`);
}

interface ChannelError extends Error {
  code?: number | string;
}

/** What the broker says when it closes a channel, with the fix. */
export function toChannelFault(error: unknown): BrokerFault {
  if (error instanceof BrokerFault) return error;
  const { code } = error as ChannelError;
  const text = readReply(error);
  switch (code) {
    case 403:
      return new BrokerFault(
        "not_allowed",
        `RabbitMQ does not allow it: ${text}. Give the user that right with \`rabbitmqctl set_permissions\`.`,
      );
    case 404:
      return new BrokerFault(
        "not_found",
        `RabbitMQ has no such thing: ${text}. Make it with \`posthorn queue declare\`.`,
      );
    case 406:
      return new BrokerFault(
        "different",
        `RabbitMQ refuses: ${text}. \`posthorn queue check\` names what differs from what \`posthorn queue declare\` makes.`,
      );
    case undefined:
    default:
      return new BrokerFault("refused", `RabbitMQ refuses: ${text}.`);
  }
}

/** The broker's own words, out of the sentence that the client makes of them. */
export function readReply(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return /with message "(?:[A-Z_]+ - )?(.*)"/s.exec(text)?.[1] ?? firstLine(error);
}
