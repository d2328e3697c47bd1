import { cpSync } from "node:fs";
import { join } from "node:path";
import { until } from "./api-client.ts";
import { ADMIN_KEY } from "./gateway-process.ts";
import { PROJECT_ROOT } from "./sample-checkout.ts";

/** The gateway of `examples/n8n-proxy`, and those who send to it. */
export const EXAMPLE_FOLDER = join(PROJECT_ROOT, "examples/n8n-proxy");

export const TOKEN = "a-token-that-senders-know";
export const SECRET = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;
export const CUSTOMERS = 8;
/** Without a key: nothing is said of their order. */
export const SENDERS_WITHOUT_KEY = 2;

export interface Sent {
  id: string;
  body: string;
  customer: string | undefined;
  answers: { status: number; said: string }[];
}

export interface Status {
  mode: string;
  queue_length: number;
  health: string;
  targets: { name: string; mode: string }[];
  missing_sources: { source: string; subscription: string; last_error: string }[];
}

/** Where the gateway is now: it may be started again while they send. */
export type FindUrl = () => string | undefined;

export function copyExample(folder: string): void {
  cpSync(EXAMPLE_FOLDER, folder, { recursive: true });
}

/**
 * The same example for whoever cannot wait: the preset's health is asked several times a second and not once a minute,
 * and what failed is tried again at once and not after half a minute. The variable says where n8n is.
 */
export function hasten(yaml: string, variable = "N8N_URL"): string {
  const policy = `retry_policy: { delays_s: ${JSON.stringify(Array(100).fill(0.2))} }`;
  const target = `
targets:
  - { name: n8n-at-home, preset: n8n, url: "\${${variable}}", health_interval_s: 0.2, idle_wait_s: 0.2 }
`;
  return yaml.replaceAll("target: n8n\n", "target: n8n-at-home\n").replace("retry_policy: short", policy) + target;
}

/** What `.env` holds. */
export const exampleEnvironment = (n8nUrl: string) => ({
  N8N_URL: n8nUrl,
  N8N_SECRET: SECRET,
  ORDERS_TOKEN: TOKEN,
  PAYMENTS_TOKEN: TOKEN,
  USERS_TOKEN: TOKEN,
});

export async function readStatus(url: string | undefined, key: string = ADMIN_KEY): Promise<Status> {
  const response = await fetch(`${url}/status`, { headers: { "x-api-key": key } });
  return (await response.json()) as Status;
}

export async function countDead(url: string | undefined): Promise<number> {
  const response = await fetch(`${url}/api/v1/dead-letters`, { headers: { "x-api-key": ADMIN_KEY } });
  return ((await response.json()) as { data: unknown[] }).data.length;
}

/** Resolves to the status. */
export async function post(
  url: string | undefined,
  source: string,
  body: string,
  token: string = TOKEN,
): Promise<number> {
  const headers = { "content-type": "application/json", "x-webhook-token": token };
  const response = await fetch(`${url}/webhook/${source}`, { method: "POST", headers, body });
  await response.arrayBuffer();
  return response.status;
}

/** Until it has an answer, as senders do: the same id again when the connection broke. */
export async function send(findUrl: FindUrl, source: string, sent: Sent): Promise<void> {
  await until(
    async () => {
      try {
        const response = await fetch(`${findUrl()}/webhook/${source}`, {
          method: "POST",
          headers: { "content-type": "application/json", "x-webhook-token": TOKEN, "x-event-id": sent.id },
          body: sent.body,
        });
        const answer = (await response.json()) as { status?: string; code?: string };
        sent.answers.push({ status: response.status, said: String(answer.status ?? answer.code) });
        return true;
      } catch {
        return false;
      }
    },
    30_000,
    "an answer",
  );
}

export function createOrder(customer: string, number: number): Sent {
  const id = `${customer}.${number}`;
  // Beyond 2^53, and with spaces that nobody would write: what arrives is what was sent.
  const body = `{ "id": "${id}",  "n": ${number}, "big": 9007199254740993, "customer": {"id": "${customer}"}, "lines": [{"sku":"A","quantity":1}] }`;
  return { id, body, customer, answers: [] };
}

function createPayment(sender: number, number: number): Sent {
  const id = `payment-${sender}.${number}`;
  const body = JSON.stringify({ id, order_id: "1", amount: "10.00", currency: "PLN" });
  return { id, body, customer: undefined, answers: [] };
}

/** Each sends one after the other; all go on until there are enough. */
export async function sendMany(findUrl: FindUrl, total: number, sent: Sent[]): Promise<void> {
  let left = total;
  const go = async (source: string, create: (number: number) => Sent) => {
    for (let n = sent.length; left-- > 0; n++) {
      const one = create(n);
      sent.push(one);
      await send(findUrl, source, one);
    }
  };
  await Promise.all([
    ...Array.from({ length: CUSTOMERS }, (_, i) => go("orders", (n) => createOrder(`customer-${i}`, n))),
    ...Array.from({ length: SENDERS_WITHOUT_KEY }, (_, i) => go("payments", (n) => createPayment(i, n))),
  ]);
}
