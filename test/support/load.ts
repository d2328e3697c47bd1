import { createHash, randomBytes } from "node:crypto";
import { Client } from "undici";
import type { SentEvent } from "./accounting.ts";
import { PATIENCE_MS } from "./api-client.ts";

/** A webhook that was sent, with its answer. */
export interface SentWebhook extends SentEvent {
  /** Undefined when no answer came. */
  status: number | undefined;
  retryAfter: string | undefined;
}

export interface LoadOptions {
  url: string;
  /** Each sends one webhook after the other. */
  connections: number;
  maxEvents: number;
  /** Every event is added when it has its answer, or is known to have none. */
  ledger: SentWebhook[];
  minBytes?: number | undefined;
  maxBytes?: number | undefined;
  keysPerConnection?: number | undefined;
  /** Waited for before each webhook. */
  pace?: (() => Promise<void>) | undefined;
  /** Sends nothing more once it is set. */
  signal?: AbortSignal | undefined;
  onAnswer?: ((sent: SentWebhook) => void) | undefined;
}

/** Shared by all loads of a process, so that stamps and keys of different runs compare. */
let stamp = 0;
let connectionCount = 0;

/** Sends until all is sent, the signal is set, or the gateway is gone; keeps a record of every answer. */
export async function sendLoad(options: LoadOptions): Promise<void> {
  let left = options.maxEvents;
  const takeOne = (): boolean => !(options.signal?.aborted ?? false) && left-- > 0;
  await Promise.all(Array.from({ length: options.connections }, () => sendOverOneConnection(options, takeOne)));
}

async function sendOverOneConnection(options: LoadOptions, takeOne: () => boolean): Promise<void> {
  const { url, ledger, minBytes = 80, maxBytes = 1200, keysPerConnection = 2 } = options;
  const connection = ++connectionCount;
  const client = new Client(url, { pipelining: 1, connectTimeout: PATIENCE_MS, headersTimeout: PATIENCE_MS });
  try {
    for (let number = 1; ; number++) {
      await options.pace?.();
      if (!takeOne()) break;
      const orderingKey = `c${connection}.k${number % keysPerConnection}`;
      const size = minBytes + Math.floor(Math.random() * (maxBytes - minBytes));
      const body = createBody(`${connection}.${number}`, orderingKey, size);
      const sent: SentWebhook = {
        hash: createHash("sha256").update(body).digest("base64url"),
        tenantId: "default",
        orderingKey,
        sentAt: ++stamp,
        answeredAt: Number.POSITIVE_INFINITY,
        answer: "unknown",
        eventId: undefined,
        deliveries: undefined,
        status: undefined,
        retryAfter: undefined,
      };
      const isAnswered = await post(client, body, orderingKey, sent);
      ledger.push(sent);
      options.onAnswer?.(sent);
      if (!isAnswered) return;
    }
  } finally {
    await client.destroy();
  }
}

function createBody(name: string, key: string, size: number): Buffer {
  const filler = randomBytes(Math.ceil(size / 2)).toString("hex");
  return Buffer.from(JSON.stringify({ name, key, filler }));
}

async function post(client: Client, body: Buffer, orderingKey: string, sent: SentWebhook): Promise<boolean> {
  const headers = { "content-type": "application/json", "x-key": orderingKey };
  try {
    const response = await client.request({ method: "POST", path: "/webhook/load", headers, body });
    const text = await response.body.text();
    sent.answeredAt = ++stamp;
    sent.status = response.statusCode;
    sent.retryAfter = response.headers["retry-after"]?.toString();
    sent.answer = response.statusCode < 300 ? "acknowledged" : "refused";
    if (sent.answer === "acknowledged") {
      const answer = JSON.parse(text) as { event_id: string; deliveries: number };
      sent.eventId = answer.event_id;
      sent.deliveries = answer.deliveries;
    }
    return true;
  } catch {
    return false;
  }
}
