import type { BrokerConnection, OutgoingMessage, Publisher } from "../../queues/broker.ts";
import { BrokerFault } from "../../queues/broker-fault.ts";
import { type Claim, sessionIdOf, wireIdOf, writeMessage } from "../../queues/message.ts";
import { attemptTrace, partsOf } from "../../model/trace-context.ts";
import { type BrokerKind, DEFAULT_CONNECTION } from "../../model/connection.ts";
import { PosthornError } from "../../model/errors.ts";
import { DELIVERED, failed, failedHere, refused, tooLarge, type Outcome } from "../../model/outcome.ts";
import type { Subscription } from "../../model/subscription.ts";
import { keepOwnRecord } from "../own-record.ts";
import { type AttemptRun, createAttemptFrame } from "../attempt-frame.ts";
import { ONE_BY_ONE, type Attempt, type Sender, type SenderServices } from "../sender.ts";
import { readDetails } from "../event-data.ts";
import { createHeaderChooser, type ChooseHeaders, toMessage, writeEvent, type WriteFacts } from "./write-event.ts";
import {
  type Address,
  rejectUnsealed,
  warnOfUnsealed,
  type CommonSettings,
  type QueueDestination,
  type QueueSending,
} from "./settings.ts";
import { createHmac, randomBytes } from "node:crypto";
import { createClaimCheck, type ClaimCheck } from "../../queues/claim-check.ts";
import { describeUnknown, type Connections } from "../../queues/connections.ts";

interface Chooser {
  choose: ChooseHeaders;
  forwardHeaders: readonly string[] | undefined;
}

export function openQueueSender<Destination extends QueueDestination>(
  spec: QueueSending<Destination>,
  services: SenderServices,
): Sender {
  const { clock, connections, origin } = services;
  const publishers = new Map<string, Publisher>();
  const choosers = new WeakMap<Subscription, Chooser>();
  /** Each version of a subscription causes one warning. */
  const warned = new WeakSet<Subscription>();
  const largeBodies = createLargeBodies(connections);
  const frame = createAttemptFrame({ clock, lateOf: () => "the broker did not confirm it" });

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

  async function sendOne({ attempt, end }: AttemptRun): Promise<void> {
    const { subscription, event, generation } = attempt;
    const endWith = (outcome: Outcome, facts: Readonly<Record<string, unknown>>) =>
      end(outcome, keepOwnRecord(subscription.place, facts));
    const destination = destinationOf(subscription);
    const address = spec.address(destination, attempt);
    if (typeof address === "string") return end(refused(address, { result: "blocked" }));
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
      return endWith(refused(error, { result: "blocked", says: "nothing" }), sending);
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
      return endWith(tooLarge(error), sending);
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
    const sent = { ...sending, size: body.byteLength, ...(claim && { claim }) };
    if (published.outcome === "confirmed") endWith(DELIVERED, sent);
    else if (published.outcome === "failed") endWith(faultOutcome(published.fault), sent);
    else endWith(unroutable(subscription, address), { ...sent, unroutable: true });
  }

  async function trySend(run: AttemptRun): Promise<void> {
    try {
      await sendOne(run);
    } catch (error) {
      if (!(error instanceof BrokerFault)) throw error;
      run.end(faultOutcome(error));
    }
  }

  return {
    limitsOf: ({ rateLimitPerMinute }) => (rateLimitPerMinute === undefined ? spec.batch : ONE_BY_ONE),
    send: (attempts, done) => void frame.begin(attempts, done, trySend),
    rules: {
      check(settings) {
        const given = settings as CommonSettings;
        const { connection = DEFAULT_CONNECTION, claim_check: claim } = given;
        rejectUnknown(spec.kind, connection, "destination.connection", connections.find(spec.kind, connection));
        rejectUnsealed(given, services.messageKey);
        if (claim === undefined || claim === null) return;
        const { connection: account = DEFAULT_CONNECTION } = claim;
        const field = "destination.claim_check.connection";
        rejectUnknown("azure-storage-queue", account, field, connections.findAccount(account));
      },
      warnOf: (settings) => warnOfUnsealed(settings, services.messageKey),
    },
    queue: {
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
    },
    close() {
      // The publishers belong to the connection, which outlives the senders.
      frame.close();
      return Promise.resolve();
    },
  };
}

function rejectUnknown(kind: BrokerKind, name: string, field: string, found: unknown): void {
  if (found !== undefined) return;
  throw new PosthornError("invalid_field", `${field}: ${describeUnknown(kind, name)}`, { field });
}

/** Stores bodies that are too large for a queue in Blob storage. */
function createLargeBodies(connections: Connections) {
  const known = new Map<string, ClaimCheck>();
  const nameKey = randomBytes(32);
  return {
    /** Undefined when the destination has no claim check. Throws a BrokerFault when its connection is not configured. */
    find({ claimCheck }: QueueDestination): ClaimCheck | undefined {
      if (claimCheck === undefined) return undefined;
      const { connection, container } = claimCheck;
      const key = `${connection} ${container}`;
      let check = known.get(key);
      if (check === undefined) {
        const account = connections.findAccount(connection);
        if (account === undefined) throw noConnection("azure-storage-queue", connection);
        known.set(key, (check = createClaimCheck({ account, container, maxBytes: Number.MAX_SAFE_INTEGER })));
      }
      return check;
    },
    /** The same for all attempts of a delivery until a restart, another for a replay; nobody can guess it. */
    nameOf({ deliveryId, generation }: Attempt): string {
      return createHmac("sha256", nameKey).update(`${deliveryId}\0${generation}`).digest("base64url");
    },
  };
}

function noConnection(kind: BrokerKind, name: string): BrokerFault {
  return new BrokerFault("unreachable", describeUnknown(kind, name));
}

export function faultOutcome({ kind, message }: BrokerFault): Outcome {
  switch (kind) {
    case "closed":
      return failedHere(message);
    case "unreachable":
    case "wrong_credentials":
    case "missing_package":
      return failed(message, { result: "connection_error", says: "ill" });
    case "too_large":
      return refused(message, { deadReason: "too_large" });
    case "invalid":
      return refused(message, { result: "blocked", says: "nothing" });
    case "not_found":
    case "not_allowed":
    case "different":
      // The broker was emptied or is not set up yet: the delivery waits, and nothing is lost.
      return failed(message, { says: "ill" });
    case "lost":
    case "refused":
      // For example, the queue is full; or the problem concerns only this message.
      return failed(message, { says: "doubtful" });
  }
}
