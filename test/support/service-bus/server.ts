// Azure Service Bus as far as its own SDK can tell: AMQP 1.0 and the administration's HTTP on one port of loopback.
// What it keeps survives `stop` and `start`, as a namespace survives a lost connection.
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import rhea, {
  type AmqpError,
  type Connection,
  type Delivery,
  type EventContext,
  type Message,
  type Receiver,
  type Sender,
} from "rhea";
import { createAdministration } from "./administration.ts";
import { createBusQueue, type BusQueue, type QueueSettings, type Settlement } from "./bus-queue.ts";
import { manage } from "./management.ts";
import { findPolicy, KEY_NAME, LIMITED_KEY_NAME } from "./signature.ts";
import { readTransfer, toDeliveryTag, toLockToken, toWire, wrapTicks } from "./wire-values.ts";

export interface ServiceBusServer {
  readonly connectionString: string;
  /** Of a policy that may send and listen, and manage nothing. */
  readonly limitedConnectionString: string;
  createQueue(name: string, settings?: Partial<QueueSettings>): BusQueue;
  queue(name: string): BusQueue;
  /** Time passes for locks, sessions, schedules and duplicate detection. */
  moveClock(byMs: number): void;
  /** Cuts every connection and takes no more. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

const KEY = "a key for tests only";
const MAX_MESSAGE_BYTES = 262_144;
const MANAGEMENT = "/$management";
const DEAD_LETTERS = "/$DeadLetterQueue";
const SESSION_FILTER = "com.microsoft:session-filter";
const DEFAULTS: QueueSettings = {
  // Nothing expires by itself while a test runs; `moveClock` makes it.
  lockMs: 300_000,
  maxDeliveryCount: 10,
  requiresSession: false,
  duplicateDetectionMs: 0,
};

/** Why a message is not settled. */
const REFUSALS = {
  lost: { condition: "com.microsoft:message-lock-lost", description: "The lock supplied is invalid." },
  refused: { condition: "amqp:not-allowed", description: "The queue takes no dead letters." },
};

/** A link over which a client takes messages. */
interface Taker {
  queue: BusQueue;
  sender: Sender;
  sessionId: string | undefined;
}

export async function startServiceBus(): Promise<ServiceBusServer> {
  const queues = new Map<string, BusQueue>();
  const takers = new Map<Sender, Taker>();
  const sockets = new Set<Socket>();
  let movedMs = 0;
  const now = () => Date.now() + movedMs;

  function createQueue(name: string, settings: Partial<QueueSettings> = {}): BusQueue {
    const whole = { ...DEFAULTS, ...settings };
    const deadLetters = createBusQueue(
      name + DEAD_LETTERS,
      { ...whole, requiresSession: false, duplicateDetectionMs: 0 },
      now,
    );
    const queue = createBusQueue(name, whole, now, deadLetters);
    queues.set(name, queue);
    queues.set(deadLetters.name, deadLetters);
    return queue;
  }

  /** rhea counts credit down when it writes, after this turn: a second time in it would send more than that. */
  let pumping: "no" | "once" | "again" = "no";
  function pump(): void {
    if (pumping !== "no") {
      pumping = "again";
      return;
    }
    pumping = "once";
    setImmediate(() => {
      const isAgain = pumping === "again";
      pumping = "no";
      if (isAgain) pump();
    });
    for (const queue of queues.values()) queue.expireLocks();
    for (const taker of takers.values()) if (!isEntitled(taker)) endSession(taker);
    for (const taker of takers.values()) deliverTo(taker);
  }

  function endSession({ sender }: Taker): void {
    takers.delete(sender);
    sender.close({ condition: "com.microsoft:session-lock-lost", description: "The session lock has expired." });
  }

  function deliverTo({ queue, sender, sessionId }: Taker): void {
    // Receive-and-delete: what is sent is gone.
    const isSettled = (sender as unknown as RemoteAttach).remote.attach.snd_settle_mode === 1;
    for (
      let { credit } = sender as unknown as { credit: number };
      credit > 0 && sender.is_open() && sender.sendable();
      credit--
    ) {
      const one = isSettled ? queue.takeForGood(sessionId) : queue.take(sessionId);
      if (one === undefined) break;
      sender.send(toWire(one), toDeliveryTag(one.lock?.token ?? "00".repeat(16)));
    }
  }

  function settle(delivery: Delivery, settlement: Settlement): void {
    const taker = takers.get(delivery.link as Sender);
    const result = taker?.queue.settle(toLockToken(delivery.tag as Buffer), settlement) ?? "lost";
    const outcomes = rhea.message as unknown as Record<"accepted" | "rejected", (value?: unknown) => Described>;
    const outcome = result === "settled" ? outcomes.accepted() : outcomes.rejected({ error: REFUSALS[result] });
    delivery.update(true, outcome.described());
    pump();
  }

  const container = rhea.create_container({ id: "service-bus-test-server" });
  container.sasl_server_mechanisms["enable_anonymous"]?.();
  const on = (event: string, handle: (context: EventContext) => void) => container.on(event, handle);
  on("receiver_open", ({ receiver }) => openIncoming(receiver as Receiver, queues));
  on("sender_open", ({ sender, connection }) => {
    const taker = openOutgoing(sender as Sender, connection, queues);
    if (taker !== undefined) takers.set(taker.sender, taker);
  });
  const forget = (sender: Sender) => {
    const taker = takers.get(sender);
    takers.delete(sender);
    if (taker?.sessionId !== undefined) taker.queue.releaseSession(taker.sessionId, sender.name);
    pump();
  };
  on("sender_close", ({ sender }) => forget(sender as Sender));
  on("sender_flow", pump);
  on("sender_draining", ({ sender }) => {
    pump();
    sender?.set_drained(true);
  });
  on("accepted", ({ delivery }) => settle(delivery as Delivery, { act: "complete" }));
  on("modified", ({ delivery }) => {
    const changes = remoteState(delivery).message_annotations ?? {};
    settle(delivery as Delivery, { act: "abandon", changes });
  });
  on("rejected", ({ delivery }) => {
    const info = remoteState(delivery).error?.info ?? {};
    const { DeadLetterReason: reason, DeadLetterErrorDescription: description } = info;
    settle(delivery as Delivery, { act: "dead-letter", reason, description });
  });
  on("message", (context) => {
    takeTransfer(context, queues);
    pump();
  });
  for (const event of [
    "connection_error",
    "session_error",
    "sender_error",
    "receiver_error",
    "protocol_error",
    "disconnected",
    "error",
  ]) {
    on(event, () => undefined);
  }

  const administration = createAdministration({
    key: KEY,
    findQueue: (name) => queues.get(name),
    createQueue,
    deleteQueue: (name) => queues.delete(name) && queues.delete(name + DEAD_LETTERS),
  });

  const accept = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy()).once("close", () => sockets.delete(socket));
    socket.once("data", (first: Buffer) => {
      socket.pause();
      socket.unshift(first);
      if (first.toString("latin1", 0, 4) === "AMQP") {
        const options = { max_frame_size: 65_536, channel_max: 5000 };
        const connection = container.create_connection(options as never);
        socket.once("close", () => {
          for (const { sender } of takers.values()) if (sender.connection === connection) forget(sender);
        });
        (connection as unknown as { accept(socket: Socket): void }).accept(socket);
      } else {
        administration.emit("connection", socket);
      }
      socket.resume();
    });
  };
  let server = await listen(accept, 0);
  const { port } = server.address() as AddressInfo;

  const connectionStringOf = (policy: string) =>
    `Endpoint=sb://127.0.0.1:${port};SharedAccessKeyName=${policy};SharedAccessKey=${KEY};UseDevelopmentEmulator=true;`;

  return {
    connectionString: connectionStringOf(KEY_NAME),
    limitedConnectionString: connectionStringOf(LIMITED_KEY_NAME),
    createQueue,
    queue(name) {
      const queue = queues.get(name);
      if (queue === undefined) throw new Error(`there is no queue ${name}`);
      return queue;
    },
    moveClock(byMs) {
      movedMs += byMs;
      pump();
    },
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      // With an error, because rhea ends its timers for nothing less.
      for (const socket of sockets) socket.destroy(new Error("the connection is cut"));
      await closed;
    },
    async start() {
      server = await listen(accept, port);
    },
  };
}

function isEntitled({ queue, sender, sessionId }: Taker): boolean {
  return sessionId === undefined || queue.ownsSession(sessionId, sender.name);
}

interface Described {
  described(): never;
}

interface RemoteState {
  message_annotations?: Record<string, unknown>;
  error?: { info?: Record<string, string | undefined> };
}

function remoteState(delivery: Delivery | undefined): RemoteState {
  return delivery?.remote_state ?? {};
}

async function listen(accept: (socket: Socket) => void, port: number): Promise<Server> {
  const server = createServer(accept);
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return server;
}

/** The client sends over it. */
function openIncoming(receiver: Receiver, queues: ReadonlyMap<string, BusQueue>): void {
  const { address } = receiver.target as { address: string };
  receiver.set_target({ address });
  (receiver as unknown as LocalAttach).local.attach.max_message_size = MAX_MESSAGE_BYTES;
  if (!isKnown(address, queues)) receiver.close(notFound(address));
}

interface RemoteAttach {
  remote: { attach: { snd_settle_mode?: number } };
}

interface LocalAttach {
  local: { attach: { max_message_size?: number; properties?: Record<string, unknown> } };
}

/** The client takes over it: messages of a queue, or answers. */
function openOutgoing(
  sender: Sender,
  connection: Connection,
  queues: ReadonlyMap<string, BusQueue>,
): Taker | undefined {
  const source = sender.source as { address: string; filter?: Record<string, unknown> };
  const target = sender.target as { address?: string } | undefined;
  sender.set_source({ address: source.address });
  sender.set_target({ address: target?.address ?? "" });
  if (isSpecial(source.address) && isKnown(source.address, queues)) {
    answersOf(connection).set(source.address === "$cbs" ? sender.name : String(target?.address), sender);
    return undefined;
  }
  const queue = queues.get(source.address);
  if (queue === undefined) {
    sender.close(notFound(source.address));
    return undefined;
  }
  if (source.filter === undefined || !(SESSION_FILTER in source.filter)) {
    return { queue, sender, sessionId: undefined };
  }
  return openSession(queue, sender, source.filter[SESSION_FILTER]);
}

function openSession(queue: BusQueue, sender: Sender, filter: unknown): Taker | undefined {
  const wanted = ((filter as { value?: unknown } | null)?.value ?? filter ?? undefined) as string | undefined;
  const session = queue.acceptSession(wanted, sender.name);
  if (session === "none") {
    sender.close({ condition: "com.microsoft:timeout", description: "There is no session now." });
    return undefined;
  }
  if (session === "busy") {
    sender.close({ condition: "com.microsoft:session-cannot-be-locked", description: "The session is locked." });
    return undefined;
  }
  sender.set_source({ address: queue.name, filter: { [SESSION_FILTER]: session.id } });
  (sender as unknown as LocalAttach).local.attach.properties = {
    "com.microsoft:locked-until-utc": wrapTicks(session.until),
  };
  return { queue, sender, sessionId: session.id };
}

function isSpecial(address: string): boolean {
  return address === "$cbs" || address.endsWith(MANAGEMENT);
}

function isKnown(address: string, queues: ReadonlyMap<string, BusQueue>): boolean {
  return (
    address === "$cbs" || queues.has(address.endsWith(MANAGEMENT) ? address.slice(0, -MANAGEMENT.length) : address)
  );
}

function notFound(address: string): AmqpError {
  const description = `The messaging entity '${address}' could not be found.`;
  return { condition: "amqp:not-found", description };
}

/** Where answers go, by the address that a request names. */
const answers = new WeakMap<Connection, Map<string, Sender>>();

function answersOf(connection: Connection): Map<string, Sender> {
  const known = answers.get(connection) ?? new Map<string, Sender>();
  answers.set(connection, known);
  return known;
}

function takeTransfer({ connection, receiver, delivery, message }: EventContext, queues: Map<string, BusQueue>): void {
  const { address } = (receiver as Receiver).target as { address: string };
  const messages = readTransfer(message as Message, (delivery as unknown as { format: number }).format);
  const [first] = messages;
  if (isSpecial(address) && first !== undefined) {
    answersOf(connection)
      .get(String(first.reply_to))
      ?.send({ ...answerTo(address, first, queues), correlation_id: first.message_id as string });
    return;
  }
  for (const one of messages) queues.get(address)?.send(one);
}

function answerTo(address: string, request: Message, queues: Map<string, BusQueue>): Message {
  if (address === "$cbs") {
    const properties = findPolicy(String(request.body), KEY)
      ? { "status-code": 202, "status-description": "Accepted" }
      : { "status-code": 401, "status-description": "InvalidSignature: The token has an invalid signature." };
    return { application_properties: properties, body: undefined };
  }
  const queue = queues.get(address.slice(0, -MANAGEMENT.length));
  const { status, body = {}, errorCondition } = queue === undefined ? { status: 404 } : manage(queue, request);
  const properties: Record<string, unknown> = {
    statusCode: rhea.types.wrap_int(status),
    statusDescription: errorCondition ?? "OK",
  };
  if (errorCondition !== undefined) properties["errorCondition"] = errorCondition;
  return { application_properties: properties, body };
}
