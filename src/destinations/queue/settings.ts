import { Type, type Static, type TProperties } from "typebox";
import { PosthornError } from "../../model/errors.ts";
import { MASK } from "../../model/secrets.ts";
import type { FieldProblem } from "../../model/subscription-rules.ts";
import type { BrokerKind } from "../../model/connection.ts";
import type { PreparedDestination } from "../destination-kind.ts";
import type { Attempt, BatchLimits } from "../sender.ts";
import { findForwardedHeaderProblem, namedCredentials, USUAL_HEADERS } from "../forward.ts";

/** The settings that destinations of all brokers share. */

export type QueueFormat = "raw" | "message" | "event" | "cloudevents";

export const DEFAULT_CONNECTION = "default";

const connectionSetting = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 64, default: DEFAULT_CONNECTION, description }));

const QUEUE_SETTINGS = {
  connection: connectionSetting("The name of the connection to the broker"),
  format: Type.Optional(
    Type.Union([Type.Literal("raw"), Type.Literal("message"), Type.Literal("event"), Type.Literal("cloudevents")], {
      default: "raw",
      description:
        "`raw`: the event's bytes; `message`: the whole event, for another gateway; `event`: the Event of a bus; " +
        "`cloudevents`: 1.0, structured JSON",
    }),
  ),
  forward_headers: Type.Optional(
    Type.Union([Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { maxItems: 100 }), Type.Null()], {
      default: null,
      description:
        "With `message`: headers of the request that are sent along; `*` means the usual ones. The default is `*`, and " +
        "for a fallback what its forward names",
    }),
  ),
  message_key: Type.Optional(
    Type.String({
      minLength: 16,
      maxLength: 1024,
      description:
        "With `message`: the key that encrypts credentials among the headers; the receiving gateway needs it too. The " +
        "gateway's own key when not given",
    }),
  ),
};

export const CLAIM_CHECK = Type.Optional(
  Type.Union(
    [
      Type.Object(
        {
          connection: connectionSetting("The name of a connection of the kind azure-storage-queue"),
          container: Type.String({
            pattern: "^[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9])){2,62}$",
            description: "The container in Blob storage; it is created when it does not exist",
          }),
        },
        { additionalProperties: false },
      ),
      Type.Null(),
    ],
    { default: null, description: "With `message`: where bodies that are too large for the queue are stored" },
  ),
);

export function queueSettings<More extends TProperties>(more: More) {
  return Type.Object({ ...QUEUE_SETTINGS, ...more }, { additionalProperties: false });
}

const CommonSettings = queueSettings({ claim_check: CLAIM_CHECK });
export type CommonSettings = Static<typeof CommonSettings>;

/** The settings as the sender uses them. */
export interface QueueDestination {
  readonly connection: string;
  readonly format: QueueFormat;
  /** In lower case; the usual headers when not given. */
  readonly forwardHeaders: readonly string[] | undefined;
  readonly messageKey: string | undefined;
  readonly claimCheck: { readonly connection: string; readonly container: string } | undefined;
  readonly place: string;
}

/** The differences between brokers, for the sender. */
export interface QueueSending<Destination extends QueueDestination> {
  kind: BrokerKind;
  /** How many deliveries are published together, without waiting for each other's confirmation. */
  batch: BatchLimits;
  /** The publisher of the connection and the subject or routing key; a text says why there is none. */
  address(destination: Destination, attempt: Attempt): Address | string;
  /**
   * What it means when nothing is bound to a routing key: with a topic, nobody listens; otherwise our queue is missing.
   */
  isTopic(destination: Destination): boolean;
  /** The queue whose messages can be counted; undefined when they spread over queues of others. */
  queueOf(destination: Destination): string | undefined;
}

export interface Address {
  publisher: string;
  subject: string | undefined;
}

export function checkQueueSettings(settings: CommonSettings): FieldProblem[] {
  const { format = "raw", forward_headers: headers, message_key: key, claim_check: claim } = settings;
  if (format !== "message") {
    const only = { forward_headers: headers ?? undefined, message_key: key, claim_check: claim ?? undefined };
    return Object.entries(only)
      .filter(([, value]) => value !== undefined)
      .map(([field]) => ({
        field,
        message: `is only for the format message, and this destination has the format ${format}`,
      }));
  }
  return (headers ?? []).flatMap((name, index) => {
    const problem = findForwardedHeaderProblem(name);
    return problem === undefined ? [] : [{ field: `forward_headers[${index}]`, message: problem }];
  });
}

/** Credentials must not be readable on the way: without a key they would be left out. */
export function refuseUnsealed(
  settings: Pick<CommonSettings, "forward_headers" | "message_key">,
  key: string | undefined,
): void {
  const [name] = namedCredentials(settings.forward_headers?.map((one) => one.toLowerCase()));
  if (name === undefined || (settings.message_key ?? key) !== undefined) return;
  const field = "destination.forward_headers";
  throw new PosthornError(
    "invalid_field",
    `${field}: ${name} is a credential, and goes through a broker only encrypted. Give a message_key, here or for the ` +
      "whole gateway, or leave it out.",
    { field },
  );
}

/** `*` does not include credentials: an owner who did not name them may think that they are sent along. */
export function warnOfUnsealed(
  { format, forward_headers: headers, message_key: own }: CommonSettings,
  key: string | undefined,
): readonly string[] {
  const hasUsual = headers === undefined || headers === null || headers.includes(USUAL_HEADERS);
  if (format !== "message" || !hasUsual || (own ?? key) !== undefined) return [];
  return [
    "Its messages carry no credentials of requests (Authorization, Cookie, X-Api-Key and the like): without a " +
      "message_key they are left out. To send them, give a message_key, here or for the whole gateway, and name them " +
      "in destination.forward_headers.",
  ];
}

export function toQueueDestination(settings: CommonSettings, place: string): QueueDestination {
  const { claim_check: claim } = settings;
  return {
    connection: settings.connection ?? DEFAULT_CONNECTION,
    format: settings.format ?? "raw",
    forwardHeaders: settings.forward_headers?.map((name) => name.toLowerCase()),
    messageKey: settings.message_key,
    claimCheck: claim ? { connection: claim.connection ?? DEFAULT_CONNECTION, container: claim.container } : undefined,
    place,
  };
}

export function prepareQueue(destination: QueueDestination): PreparedDestination {
  const { format, forwardHeaders, place } = destination;
  return {
    destination,
    place,
    queuePlace: place,
    needs: { request: format === "message", details: true },
    credentials: format === "message" ? namedCredentials(forwardHeaders) : undefined,
  };
}

/** All settings, also those that were not given. */
export function presentQueue(settings: CommonSettings): Record<string, unknown> {
  const { format = "raw", forward_headers: headers, message_key: key } = settings;
  return {
    connection: settings.connection ?? DEFAULT_CONNECTION,
    format,
    forward_headers: headers ?? null,
    ...(key !== undefined && { message_key: MASK }),
  };
}

export function presentClaimCheck(claim: CommonSettings["claim_check"]): Record<string, unknown> {
  if (claim === undefined || claim === null) return { claim_check: null };
  const { connection = DEFAULT_CONNECTION, container } = claim;
  return { claim_check: { connection, container } };
}
