import type { ServiceBusReceivedMessage, ServiceBusReceiver } from "@azure/service-bus";
import {
  FIRST_ID,
  PARK_DESCRIPTION,
  PARK_REASON,
  type MessageProperty,
  type Settled,
  type TakenMessage,
} from "../broker.ts";
import { type BusLink, isOfClosedLink, isOfSettledMessage, type OpenNamespace } from "./bus-namespace.ts";

export const RECEIVER_OPTIONS = {
  receiveMode: "peekLock",
  // The package would parse JSON and write it again: bytes must stay unchanged.
  skipParsingBodyAsJson: true,
  // The holder of a message renews its lock for as long as needed; the package would stop after five minutes.
  maxAutoLockRenewalDurationInMs: 0,
} as const;

interface Received {
  receiver: ServiceBusReceiver;
  message: ServiceBusReceivedMessage;
  renew(): Promise<unknown>;
  /** Makes room for the next message. */
  release(): void;
  link: BusLink;
  handle: OpenNamespace;
}

export function toTaken({ receiver, message, renew, release, link, handle }: Received): TakenMessage {
  async function attempt(act: () => Promise<unknown>): Promise<Settled> {
    try {
      await act();
      return "settled";
    } catch (error) {
      // A message can be settled only over the link that brought it, and that link alone may have been closed.
      if (isOfClosedLink(error) || isOfSettledMessage(error)) return "lost";
      const fault = link.recordFault(handle, error);
      if (fault.kind === "lost") return "lost";
      throw fault;
    }
  }
  const settle = (act: () => Promise<unknown>) => attempt(act).finally(release);

  const id = readId(message);
  return {
    id: id === "" ? undefined : id,
    body: readBody(message.body),
    contentType: message.contentType,
    subject: message.subject,
    sessionId: message.sessionId,
    properties: readProperties(message),
    // The service counts only the earlier deliveries.
    deliveryCount: (message.deliveryCount ?? 0) + 1,
    acknowledge: () => settle(() => settleInTurn(receiver, "complete", () => receiver.completeMessage(message))),
    retry: () => settle(() => settleInTurn(receiver, "abandon", () => receiver.abandonMessage(message))),
    renew: () => attempt(renew),
    async park(reason, description) {
      const result = await attempt(() =>
        settleInTurn(receiver, "dead-letter", () =>
          receiver.deadLetterMessage(message, { deadLetterReason: reason, deadLetterErrorDescription: description }),
        ),
      );
      release();
      return result;
    },
  };
}

/** The message's first id: a requeued copy has another one, because it would be dropped as a duplicate otherwise. */
export function readId({ messageId, applicationProperties }: ServiceBusReceivedMessage): string | undefined {
  const first = applicationProperties?.[FIRST_ID];
  if (typeof first === "string" && first !== "") return first;
  return messageId === undefined ? undefined : String(messageId);
}

/** Other senders may send a body that is not bytes but an AMQP value. */
export function readBody(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  if (body instanceof Uint8Array) return Buffer.from(body);
  return Buffer.from(typeof body === "string" ? body : (JSON.stringify(body) ?? ""), "utf8");
}

export function readProperties(message: ServiceBusReceivedMessage): Record<string, MessageProperty> {
  const properties: Record<string, MessageProperty> = {};
  for (const [name, value] of Object.entries(message.applicationProperties ?? {})) {
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") properties[name] = value;
  }
  if (message.deadLetterReason !== undefined) properties[PARK_REASON] = message.deadLetterReason;
  if (message.deadLetterErrorDescription !== undefined) {
    properties[PARK_DESCRIPTION] = message.deadLetterErrorDescription;
  }
  return properties;
}

type Act = "complete" | "abandon" | "dead-letter";

interface Turns {
  now: Promise<void>;
  act: Act | undefined;
}

const turnsOf = new WeakMap<ServiceBusReceiver, Turns>();

/**
 * The package writes all settlements of one event loop turn together, and its AMQP library (rhea 3.0) then gives the
 * second of two consecutive messages the outcome of the first: a message to be parked would be completed, and lost. So
 * only settlements with the same outcome happen in one turn.
 */
async function settleInTurn<Answer>(
  receiver: ServiceBusReceiver,
  act: Act,
  settle: () => Promise<Answer>,
): Promise<Answer> {
  const turns = turnsOf.get(receiver) ?? { now: Promise.resolve(), act: undefined };
  turnsOf.set(receiver, turns);
  // Each dead letter has its own reason.
  if (turns.act !== act || act === "dead-letter") {
    turns.act = act;
    turns.now = turns.now.then(() => new Promise((resolve) => setImmediate(resolve)));
  }
  await turns.now;
  return settle();
}
