import type { TestContext } from "vitest";
import type { BrokerConnection, TakenMessage } from "../../src/queues/broker.ts";
import { parseMessage } from "../../src/queues/message.ts";
import type { BrokerKind } from "../../src/model/connection.ts";
import { until } from "./api-client.ts";
import { connect, findConnection, reachedAt, SHARED_QUEUES, type SharedQueue } from "./brokers/shared-queues.ts";
import { openSinkServer, type SinkAnswer, type SinkServer } from "./sink-server.ts";
import { openTcpGate, type TcpGate } from "./tcp-gate.ts";
import { startTestGateway, type TestGateway } from "./test-gateway.ts";

export const OK: SinkAnswer = { status: 200, body: '{"status":"ok"}' };
export const DOWN: SinkAnswer = { status: 503 };

export interface FallbackWorld {
  gateway: TestGateway;
  gate: TcpGate;
  target: SinkServer;
  /** What it answers, to checks and to webhooks. */
  far: { health: SinkAnswer; answer: SinkAnswer };
  broker: BrokerConnection;
  shared: SharedQueue;
  posts(): string[];
  depth(): Promise<number>;
  /** Takes all that is in the queue now, and settles it. */
  takeAll(): Promise<string[]>;
}

export interface FallbackSettings {
  forward?: object;
  fallback?: object;
  /** More settings of its destination, and connections that these need. */
  destination?: object;
  connections?: object[];
  sourcesOf?: (queue: string) => object[];
  env?: Record<string, string | number | boolean>;
}

/** A gateway whose forward has a fallback of this kind, at the broker that all tests share. Closed with the test. */
export async function openFallbackWorld(
  context: TestContext,
  kind: BrokerKind,
  settings: FallbackSettings = {},
): Promise<FallbackWorld> {
  const { forward = {}, fallback = {}, destination = {}, connections: more = [] } = settings;
  const { sourcesOf = () => [], env = {} } = settings;
  const closing: (() => Promise<unknown>)[] = [];
  context.onTestFinished(async () => {
    for (const close of closing.toReversed()) await close();
  });
  const shared = await SHARED_QUEUES[kind](context);
  closing.push(() => shared.close());
  const gate = await openTcpGate(shared.port);
  closing.push(() => gate.close());
  const target = await openSinkServer();
  closing.push(() => target.close());
  const far = { health: OK, answer: OK };
  target.answerWith(({ method }) => (method === "GET" ? far.health : far.answer));
  const connections = connect(shared.input);
  closing.push(() => connections.close());
  const broker = findConnection(connections, shared.input);
  const gateway = await startTestGateway({
    env,
    yaml: JSON.stringify({
      connections: [reachedAt(shared, gate.port), ...more],
      sources: [{ name: "keyed", ordering_key_from: "header:X-Key" }, ...sourcesOf(shared.queue)],
      subscriptions: [
        {
          name: "n8n",
          url: `${target.url}/hook`,
          mode: "forward",
          events: ["webhook.*"],
          health_url: `${target.url}/healthz`,
          health_interval_s: 0.1,
          successes_to_close: 2,
          retry_policy: "short",
          forward_headers: ["*", "authorization"],
          fallback: "home-queue",
          ...forward,
        },
        {
          name: "home-queue",
          kind,
          events: [],
          destination: {
            queue: shared.queue,
            format: "message",
            message_key: "a key that both gateways have",
            forward_headers: ["*", "x-api-key"],
            ...destination,
          },
          retry_policy: { delays_s: Array.from({ length: 100 }, () => 0.2) },
          ...fallback,
        },
      ],
    }),
  });
  closing.push(() => gateway.close());
  const depth = async () => {
    const { ready, held = 0 } = await broker.depth(shared.queue);
    return ready + held;
  };
  return {
    gateway,
    gate,
    target,
    far,
    broker,
    shared,
    posts: () => target.requests.filter(({ method }) => method === "POST").map(({ body }) => body.toString()),
    depth,
    async takeAll() {
      const count = await depth();
      const taker = broker.openTaker({
        queue: shared.queue,
        maxUnacknowledged: 100,
        holdMs: 60_000,
        parkTo: { destination: "", subject: "" },
        sessions: false,
      });
      const bodies: string[] = [];
      while (bodies.length < count) {
        for (const message of await taker.take(32, 10_000)) {
          bodies.push(bodyOf(message));
          await message.acknowledge();
        }
      }
      await taker.close();
      return bodies;
    },
  };
}

function bodyOf({ body }: TakenMessage): string {
  const parsed = parseMessage(body);
  if (!("message" in parsed)) throw new Error(parsed.description);
  const { content } = parsed.message;
  return "body" in content ? Buffer.from(content.body).toString() : "claimed";
}

export const modeOf = async (gateway: TestGateway, name: string) =>
  (await gateway.get(`/api/v1/targets/${name}`)).json["mode"] as string;
export const reaches = (gateway: TestGateway, name: string, mode: string) =>
  until(async () => (await modeOf(gateway, name)) === mode, undefined, `${name} in ${mode}`);
