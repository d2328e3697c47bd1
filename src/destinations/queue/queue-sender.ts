import { type Claim, writeMessage, sessionIdOf, wireIdOf } from "../../queues/message.ts";
import type { BrokerConnection, OutgoingMessage, Publisher } from "../../queues/broker.ts";
import { BrokerFault } from "../../queues/broker-fault.ts";
import type { BrokerKind } from "../../model/connection.ts";
import { attemptTrace, partsOf } from "../../model/trace-context.ts";
import { PosthornError } from "../../model/errors.ts";
import { DELIVERED, failed, failedHere, refused, tooLarge, type Outcome } from "../../model/outcome.ts";
import type { Subscription } from "../../model/subscription.ts";
import { keepOwnRecord } from "../own-record.ts";
import { ONE_BY_ONE, type Attempt, type AttemptReport, type BatchLimits, type Sender } from "../sender.ts";
import type { SenderServices } from "../services.ts";
import { readDetails } from "../event-details.ts";
import { createLargeBodies, noConnection } from "./large-bodies.ts";
import { createHeaderChooser, type ChooseHeaders } from "./message-headers.ts";
import {
  DEFAULT_CONNECTION,
  refuseUnsealed,
  warnOfUnsealed,
  type CommonSettings,
  type QueueDestination,
} from "./settings.ts";
import { faultOutcome, toOutcome } from "./to-outcome.ts";
import { toMessage, writeEvent, type WriteFacts } from "./write-event.ts";

/** The differences between brokers. */
export interface QueueKind<Destination extends QueueDestination> {
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

interface Chooser {
  choose: ChooseHeaders;
  forwardHeaders: readonly string[] | undefined;
}

interface Sent {
  outcome: Outcome;
  facts: Readonly<Record<string, unknown>>;
}

export function openQueueSender<Destination extends QueueDestination>(
  spec: QueueKind<Destination>,
  services: SenderServices,
): Sender {
  const { clock, connections, origin } = services;
  const publishers = new Map<string, Publisher>();
  const choosers = new WeakMap<Subscription, Chooser>();
  /** Each version of a subscription causes one warning. */
  const warned = new WeakSet<Subscription>();
  const largeBodies = createLargeBodies(connections);
  const underWay = new Set<() => void>();

  const destinationOf = ({ destination }: Subscription) => destination as Destination;

  function getConnection({ connection }: QueueDestination): BrokerConnection {
    const found = connections.find(spec.kind, connection);
    if (found === undefined) throw noConnection(spec.kind, connection);
    return found;
  }

  function publisherOf(connection: BrokerConnection, destination: QueueDestination, name: string): Publisher {
    const key = `${destination.connection}\0${name}`;
    let publisher = publishers.get(key);
    if (publisher === undefined) publishers.set(key, (publisher = connection.openPublisher(name)));
    return publisher;
  }

  function chooserOf(subscription: Subscription): ChooseHeaders {
    const { forwardHeaders: own, messageKey = services.messageKey } = destinationOf(subscription);
    // A fallback gets the events that its forward cannot send, with the headers that the forward would send.
    const forwardHeaders = own ?? services.findForward(subscription)?.forwardHeaders;
    let chooser = choosers.get(subscription);
    if (chooser === undefined || chooser.forwardHeaders !== forwardHeaders) {
      const choose = createHeaderChooser({ forwardHeaders, messageKey }, services.openCredentials);
      choosers.set(subscription, (chooser = { choose, forwardHeaders }));
    }
    return chooser.choose;
  }

  function unroutable(subscription: Subscription, { subject = "" }: Address): Outcome {
    const destination = destinationOf(subscription);
    const { place } = destination;
    if (!spec.isTopic(destination)) {
      return failed(`RabbitMQ has no queue of that name (${place}). Create it with \`posthorn queue declare\`.`);
    }
    if (!warned.has(subscription)) {
      warned.add(subscription);
      services.warn(subscription, `nothing is bound to ${place} for the routing key "${subject}"`);
    }
    return DELIVERED;
  }

  async function sendOne(attempt: Attempt): Promise<Sent> {
    const { subscription, event, generation } = attempt;
    const destination = destinationOf(subscription);
    const address = spec.address(destination, attempt);
    if (typeof address === "string") return { outcome: refused(address, { result: "blocked" }), facts: {} };
    const connection = getConnection(destination);
    const details = readDetails(attempt.details);
    const eventId = details.originEventId ?? event.id;
    const facts: WriteFacts = {
      details,
      eventId,
      hops: (event.hops ?? 0) + 1,
      origin,
      publishedAt: clock.wall(),
      chooseHeaders: chooserOf(subscription),
      trace: partsOf(attempt.trace ?? attemptTrace({ ...event, id: eventId }, attempt.deliveryId, attempt.number)),
    };
    const id = wireIdOf(eventId, generation);
    const sending = { message_id: id, ...(address.subject !== undefined && { subject: address.subject }) };
    const written = writeEvent(destination.format, attempt, facts);
    if (written === undefined) {
      const error =
        "the format event only supports JSON objects, and the body of this event is not one; choose another format";
      return { outcome: refused(error, { result: "blocked", says: "nothing" }), facts: sending };
    }
    const { maxMessageBytes } = connection.limits;
    let { body } = written;
    let claim: Claim | undefined;
    const claims = body.byteLength > maxMessageBytes ? largeBodies.find(destination) : undefined;
    if (claims !== undefined) {
      const { deliveryId } = attempt;
      const queue = spec.queueOf(destination) ?? "";
      const owner = { origin, deliveryId, broker: spec.kind, connection: destination.connection, queue };
      claim = await claims.put(largeBodies.nameOf(attempt), event.body, owner);
      body = writeMessage(toMessage(attempt, facts, { claim }));
    }
    if (body.byteLength > maxMessageBytes) {
      const more = destination.claimCheck === undefined ? "" : ", without its body";
      const error = `the message has ${body.byteLength} bytes${more}; the broker accepts at most ${maxMessageBytes}`;
      return { outcome: tooLarge(error), facts: sending };
    }
    const message: OutgoingMessage = {
      id,
      body,
      contentType: written.contentType,
      subject: address.subject,
      sessionId: sessionIdOf(event.orderingKey, id),
      correlationId: details.sessionId,
      timestamp: event.occurredAt,
      // One that has expired meanwhile is dropped by the broker, and not by us.
      expiresInMs: details.expiresAt === undefined ? undefined : Math.max(0, details.expiresAt - clock.wall()),
      properties: {
        event_id: eventId,
        event_type: event.type,
        tenant_id: event.tenantId,
        source: event.source,
        priority: event.priority,
        ...(event.orderingKey !== undefined && { ordering_key: event.orderingKey }),
        origin,
        hops: facts.hops,
        generation,
        traceparent: facts.trace.traceparent,
        ...(facts.trace.tracestate !== undefined && { tracestate: facts.trace.tracestate }),
      },
    };
    const published = await publisherOf(connection, destination, address.publisher).publish(message);
    const outcome =
      published.outcome === "unroutable" ? unroutable(subscription, address) : toOutcome(published, DELIVERED);
    return {
      outcome,
      facts: {
        ...sending,
        size: body.byteLength,
        ...(claim && { claim }),
        ...(published.outcome === "unroutable" && { unroutable: true }),
      },
    };
  }

  async function trySend(attempt: Attempt): Promise<Sent> {
    try {
      return await sendOne(attempt);
    } catch (error) {
      if (error instanceof BrokerFault) return { outcome: faultOutcome(error), facts: {} };
      return { outcome: failedHere(`the message could not be created: ${String(error)}`), facts: {} };
    }
  }

  return {
    limitsOf: ({ rateLimitPerMinute }) => (rateLimitPerMinute === undefined ? spec.batch : ONE_BY_ONE),
    send(attempts, done) {
      const [startedAt, startedNow] = [clock.wall(), clock.now()];
      const { timeoutMs, place } = (attempts[0] as Attempt).subscription;
      const sent: (Sent | undefined)[] = attempts.map(() => undefined);
      let left = attempts.length;
      const end = (missing: Outcome) => {
        if (!underWay.delete(abort)) return;
        deadline.cancel();
        const durationMs = clock.now() - startedNow;
        done(
          sent.map((one): AttemptReport => {
            const { outcome, facts } = one ?? { outcome: missing, facts: {} };
            return { outcome, startedAt, durationMs, record: keepOwnRecord(place, facts) };
          }),
        );
      };
      const abort = () => end(failedHere("the gateway stopped"));
      underWay.add(abort);
      const late = failed(`the broker did not confirm it within ${timeoutMs} ms`, { result: "timeout" });
      const deadline = clock.setTimer(clock.now() + timeoutMs, () => end(late));
      attempts.forEach((attempt, index) => {
        void trySend(attempt).then((one) => {
          sent[index] = one;
          if (--left === 0) end(late);
        });
      });
    },
    refuse(settings) {
      const given = settings as CommonSettings;
      const { connection = DEFAULT_CONNECTION, claim_check: claim } = given;
      refuseUnknown(spec.kind, connection, "destination.connection", connections.find(spec.kind, connection));
      refuseUnsealed(given, services.messageKey);
      if (claim === undefined || claim === null) return;
      const { connection: account = DEFAULT_CONNECTION } = claim;
      const field = "destination.claim_check.connection";
      refuseUnknown("azure-storage-queue", account, field, connections.findAccount(account));
    },
    warnOf: (settings) => warnOfUnsealed(settings, services.messageKey),
    async countWaiting(subscription) {
      const destination = destinationOf(subscription);
      const queue = spec.queueOf(destination);
      if (queue === undefined) return undefined;
      try {
        const { ready, held = 0 } = await getConnection(destination).depth(queue);
        return ready + held;
      } catch (error) {
        // A queue that does not exist holds nothing.
        if (error instanceof BrokerFault && error.kind === "not_found") return 0;
        throw error;
      }
    },
    mayHoldMore(subscription) {
      const { connection } = destinationOf(subscription);
      return connections.find(spec.kind, connection)?.limits.countsHeld === false;
    },
    close() {
      // The publishers belong to the connection, which outlives the senders.
      for (const abort of underWay) abort();
      return Promise.resolve();
    },
  };
}

function refuseUnknown(kind: string, name: string, field: string, found: unknown): void {
  if (found !== undefined) return;
  throw new PosthornError(
    "invalid_field",
    `${field}: there is no connection "${name}" of the kind ${kind} here. Add it under connections in the configuration.`,
    { field },
  );
}
