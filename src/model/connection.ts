import { Type, type Static } from "typebox";
import { parseUrl } from "./addresses.ts";
import { problemsOf, type FieldProblem } from "./subscription-rules.ts";
import { oneOf, optionalText } from "./shape.ts";

/** A connection to a broker: sources pull from it and subscriptions publish to it. */

/** The connection that sources and subscriptions use by default. */
export const DEFAULT_CONNECTION = "default";

export const DEFAULT_NAMESPACE = "posthorn";
export const DEFAULT_QUEUE_TYPE = "quorum";

export const BROKER_KINDS = ["amqp", "azure-service-bus", "azure-storage-queue"] as const;
export type BrokerKind = (typeof BROKER_KINDS)[number];

const secretText = (description: string) => optionalText({ minLength: 1, maxLength: 4096, secret: true, description });

export const ConnectionInput = Type.Object(
  {
    name: Type.String({
      pattern: "^[a-z0-9][a-z0-9_-]{0,63}$",
      description: `Unique per kind; \`${DEFAULT_CONNECTION}\` is used where no connection is named`,
    }),
    kind: oneOf(BROKER_KINDS, { description: "The kind of broker" }),
    url: secretText("For `amqp`: `amqps://user:password@host:5671/vhost`"),
    connection_string: secretText("For the Azure kinds: the connection string that the portal shows"),
    namespace: optionalText({
      pattern: "^[A-Za-z0-9.-]{1,253}$",
      description:
        "For `azure-service-bus`, instead of a connection string: `NAME.servicebus.windows.net`, with the identity " +
        "that `DefaultAzureCredential` finds",
    }),
    account_url: optionalText({
      minLength: 1,
      maxLength: 2048,
      description:
        "For `azure-storage-queue`, instead of a connection string: `https://NAME.queue.core.windows.net`, with the " +
        "identity that `DefaultAzureCredential` finds",
    }),
    topology: Type.Optional(
      Type.Object(
        {
          namespace: optionalText({
            pattern: "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$",
            default: DEFAULT_NAMESPACE,
            description: "Prefix of the exchange names: `NAMESPACE.events`, `NAMESPACE.dlx` …",
          }),
          queue_type: Type.Optional(
            oneOf(["quorum", "classic"], {
              default: DEFAULT_QUEUE_TYPE,
              description: "`classic` if other programs declare the queues like that",
            }),
          ),
          notifications: Type.Optional(
            Type.Array(oneOf(["email", "sms"]), {
              maxItems: 2,
              description:
                "Creates `notification.email` and `notification.sms` for other programs that take from them; a queue " +
                "that a source takes from is created anyway",
              examples: [["email", "sms"]],
            }),
          ),
        },
        {
          additionalProperties: false,
          description: "For `amqp`: the exchanges and queues that `posthorn queue declare` creates",
        },
      ),
    ),
    management_url: secretText(
      "For `amqp`: the URL of RabbitMQ's management API, for `posthorn queue check`; by default on the broker's " +
        "host, with the user of its `url`",
    ),
  },
  { additionalProperties: false },
);
export type ConnectionInput = Static<typeof ConnectionInput>;

/** The fields that can hold the address of each kind; exactly one of them must be set. */
const ADDRESSES = {
  amqp: ["url"],
  "azure-service-bus": ["connection_string", "namespace"],
  "azure-storage-queue": ["connection_string", "account_url"],
} as const satisfies Record<BrokerKind, readonly (keyof ConnectionInput)[]>;

type Address = (typeof ADDRESSES)[BrokerKind][number];

/** Fields that only RabbitMQ has. */
const OF_AMQP = ["topology", "management_url"] as const;

/** Problems of the fields, alone and combined. Messages repeat no value, because values hold passwords. */
export function checkConnectionInput(input: ConnectionInput): FieldProblem[] {
  const misplaced = input.kind === "amqp" ? undefined : OF_AMQP.find((field) => input[field] !== undefined);
  if (misplaced !== undefined) return [{ field: misplaced, message: "is for amqp only; leave it out" }];
  if (input.management_url !== undefined && !/^https?:$/.test(parseUrl(input.management_url)?.protocol ?? "")) {
    return [{ field: "management_url", message: "is not a URL; write for example https://host:15671" }];
  }
  const wanted: readonly Address[] = ADDRESSES[input.kind];
  const given = Object.values(ADDRESSES)
    .flat()
    .filter((field) => input[field] !== undefined);
  const foreign = given.find((field) => !wanted.includes(field));
  if (foreign !== undefined) {
    return [{ field: foreign, message: `cannot be used with ${input.kind}; set ${wanted.join(" or ")}` }];
  }
  const [field, second] = new Set(given);
  if (field === undefined) return [{ field: wanted[0] ?? "url", message: `set ${wanted.join(" or ")}` }];
  if (second !== undefined)
    return [{ field: second, message: `cannot be set together with ${field}; set only one of them` }];
  return problemsOf([[field, findAddressProblem(input.kind, field, input[field] ?? "")]]);
}

/** The settings without the address: for the connection named `default` the environment may set the address. */
export function withoutAddress(input: ConnectionInput): ConnectionInput {
  const addresses: readonly string[] = Object.values(ADDRESSES).flat();
  return Object.fromEntries(Object.entries(input).filter(([field]) => !addresses.includes(field))) as ConnectionInput;
}

/** Also checks addresses that the environment sets for the default connections. */
export function findAddressProblem(kind: BrokerKind, field: Address, text: string): string | undefined {
  switch (field) {
    case "url": {
      const protocol = parseUrl(text)?.protocol;
      if (protocol === "amqp:" || protocol === "amqps:") return undefined;
      return "is not a RabbitMQ URL; write for example amqps://user:password@host:5671/vhost";
    }
    case "account_url": {
      const url = parseUrl(text);
      const isPlain = url?.username === "" && url.search === "" && url.hash === "";
      if (url?.protocol === "https:" && isPlain) return undefined;
      return "is not the URL of a storage account; write for example https://NAME.queue.core.windows.net";
    }
    case "connection_string":
      return findConnectionStringProblem(kind, text);
    case "namespace":
      return undefined;
  }
}

function findConnectionStringProblem(kind: BrokerKind, text: string): string | undefined {
  if (kind !== "azure-service-bus") {
    const isStorage = /(?:^|;)\s*(?:AccountName|QueueEndpoint|UseDevelopmentStorage)\s*=/i.test(text);
    return isStorage ? undefined : "is not a connection string of Azure Storage, which has an AccountName";
  }
  if (/(?:^|;)\s*Endpoint\s*=\s*sb:\/\//i.test(text)) return undefined;
  return "is not a connection string of Azure Service Bus, which has Endpoint=sb://NAME.servicebus.windows.net/";
}

/**
 * An exchange or a queue as one line of text. It is shown to people, and used to compare where deliveries go with where
 * messages came from.
 */
export function describeQueue(kind: BrokerKind, connection: string, queue: string): string {
  return `${kind}:${connection}:queue:${queue}`;
}

export function describeExchange(connection: string, exchange: string): string {
  return `amqp:${connection}:exchange:${exchange}`;
}
