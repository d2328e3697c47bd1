import { randomBytes } from "node:crypto";
import { openLoadConnection, writeRequest } from "../../src/cli/trial/load.ts";
import { hashOf } from "../../src/cli/trial/sink.ts";
import type { SentEvent } from "./accounting.ts";

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
  const port = Number(new URL(url).port);
  let lose: () => void = () => undefined;
  const lost = new Promise<undefined>((resolve) => (lose = () => resolve(undefined)));
  const client = await openLoadConnection(port, lose).catch(() => undefined);

  async function post(body: Buffer, orderingKey: string, sent: SentWebhook): Promise<boolean> {
    const request = writeRequest(port, "/webhook/load", body, `x-key: ${orderingKey}\r\n`);
    const answered = new Promise<string>((resolve) =>
      client?.send(request, (_, bytes) => {
        sent.answeredAt = ++stamp;
        resolve(bytes.toString("utf8"));
      }),
    );
    const answer = await (client === undefined ? undefined : Promise.race([answered, lost]));
    if (answer === undefined) return false;
    readAnswer(answer, sent);
    return true;
  }

  try {
    for (let number = 1; ; number++) {
      await options.pace?.();
      if (!takeOne()) break;
      const orderingKey = `c${connection}.k${number % keysPerConnection}`;
      const size = minBytes + Math.floor(Math.random() * (maxBytes - minBytes));
      const body = createBody(`${connection}.${number}`, orderingKey, size);
      const sent: SentWebhook = {
        hash: hashOf(body),
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
      const isAnswered = await post(body, orderingKey, sent);
      ledger.push(sent);
      options.onAnswer?.(sent);
      if (!isAnswered) return;
    }
  } finally {
    client?.close();
  }
}

function createBody(name: string, key: string, size: number): Buffer {
  const filler = randomBytes(Math.ceil(size / 2)).toString("hex");
  return Buffer.from(JSON.stringify({ name, key, filler }));
}

function readAnswer(answer: string, sent: SentWebhook): void {
  const [head = "", body = ""] = answer.split("\r\n\r\n", 2);
  sent.status = Number(head.slice(9, 12));
  sent.retryAfter = /\r\nretry-after: *([^\r]*)/i.exec(head)?.[1];
  sent.answer = sent.status < 300 ? "acknowledged" : "refused";
  if (sent.answer === "refused") return;
  const { event_id: eventId, deliveries } = JSON.parse(body) as { event_id: string; deliveries: number };
  sent.eventId = eventId;
  sent.deliveries = deliveries;
}
