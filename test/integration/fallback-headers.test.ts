import { randomUUID } from "node:crypto";
import { QueueServiceClient } from "@azure/storage-queue";
import { afterEach, beforeEach, describe, expect, it, type TestContext } from "vitest";
import { parseMessage } from "../../src/queues/message.ts";
import { createHeaderSeal } from "../../src/queues/sealed-headers.ts";
import { useAzurite } from "../support/services/shared.ts";
import { until } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const KEY = "a key that both gateways have";
const SENT = {
  "x-github-event": "push",
  "x-shop": "7",
  // Each webhook has another one: one that is known would be a duplicate.
  "webhook-id": "msg_1",
  "user-agent": "shop/1",
  authorization: "Bearer of-the-sender",
};

describe("a message of a fallback", () => {
  let webhooks: number;
  let target: SinkServer;
  let gateway: TestGateway;
  let connections: object[];
  let queue: ReturnType<QueueServiceClient["getQueueClient"]>;

  beforeEach(async (context: TestContext) => {
    const connectionString = await useAzurite(context);
    queue = QueueServiceClient.fromConnectionString(connectionString).getQueueClient(`fallback-${randomUUID()}`);
    await queue.create();
    webhooks = 0;
    target = await openSinkServer();
    target.answerWith({ status: 503 });
    connections = [{ name: "default", kind: "azure-storage-queue", connection_string: connectionString }];
    gateway = await startTestGateway({ yaml: JSON.stringify({ connections }) });
  });
  afterEach(async () => {
    await gateway.close();
    await target.close();
  });

  /** Declares both subscriptions, sends a webhook that cannot be forwarded, and reads the headers in its message. */
  async function sendBy(forward: object, destination: object) {
    await gateway.reload(
      JSON.stringify({
        connections,
        subscriptions: [
          {
            name: "n8n",
            events: ["webhook.#"],
            url: `${target.url}/{source}`,
            mode: "forward",
            health_url: `${target.url}/healthz`,
            health_interval_s: 3600,
            failures_to_open: 100,
            fallback: "home-queue",
            ...forward,
          },
          {
            name: "home-queue",
            kind: "azure-storage-queue",
            events: [],
            destination: { queue: queue.name, format: "message", message_key: KEY, ...destination },
          },
        ],
      }),
    );
    const { json } = await gateway.webhook("orders", "{}", { ...SENT, "webhook-id": `msg_${++webhooks}` });
    expect(json).toMatchObject({ status: "queued", deliveries: 1 });
    await until(async () => ((await queue.getProperties()).approximateMessagesCount ?? 0) === 1);
    const [item] = (await queue.receiveMessages()).receivedMessageItems;
    await queue.deleteMessage(item?.messageId ?? "", item?.popReceipt ?? "");
    const parsed = parseMessage(Buffer.from(item?.messageText ?? "", "base64"));
    if (!("message" in parsed)) throw new Error(parsed.description);
    const { headers = {}, sealedHeaders, eventId } = parsed.message;
    const sealed = sealedHeaders === undefined ? {} : createHeaderSeal(KEY).open(sealedHeaders, eventId);
    const asked = Object.entries({ ...headers, ...sealed }).filter(([name]) => name in SENT);
    return { asked: Object.fromEntries(asked), isSealed: !("authorization" in headers) };
  }

  it("has the headers that the forward names, credentials encrypted", async () => {
    const { asked, isSealed } = await sendBy({ forward_headers: ["*", ...Object.keys(SENT)] }, {});
    expect([asked, isSealed]).toEqual([SENT, true]);
  });

  it("follows the forward when that names others, and has the usual ones when it names none", async () => {
    await sendBy({ forward_headers: ["*", "webhook-id"] }, {});
    expect((await sendBy({ forward_headers: ["X-GitHub-Event"] }, {})).asked).toEqual({ "x-github-event": "push" });
    expect((await sendBy({}, {})).asked).toEqual({ "x-github-event": "push", "x-shop": "7" });
  });

  it("has the headers that the fallback itself names, whatever the forward does", async () => {
    const own = { forward_headers: ["x-shop"] };
    expect((await sendBy({ forward_headers: ["*", "webhook-id"] }, own)).asked).toEqual({ "x-shop": "7" });
  });
});
