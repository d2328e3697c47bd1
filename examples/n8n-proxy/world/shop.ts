import { TOKEN } from "../../../test/support/n8n-example.ts";
import type { Story } from "../../support/example.ts";

/** A shop that posts its orders to the gateway, as any with a setting for webhooks does. */
export interface Shop {
  /** Of every answer that it got. */
  readonly statuses: readonly number[];
  /** What the gateway accepted, in the order of sending. */
  readonly accepted: readonly SentOrder[];
  /** Sends an order and tells of it; resolves to the status of the answer. */
  send(order?: Partial<Order>, token?: string): Promise<number>;
  /** The same, without a word of it. */
  sendQuietly(order?: Partial<Order>): Promise<number>;
  /** Tells of the first only; resolves to all statuses. */
  sendMany(count: number): Promise<readonly number[]>;
}

export interface Order {
  id: string;
  customer: { id: string };
  lines: readonly { sku: string; quantity: number }[];
  phone?: string;
}

export interface SentOrder {
  id: string;
  customerId: string;
  body: string;
}

const CUSTOMERS = 3;

export function openShop({ sent, answered, say }: Story, gatewayUrl: string): Shop {
  const statuses: number[] = [];
  const accepted: SentOrder[] = [];
  let number = 0;

  function create(given: Partial<Order>): SentOrder {
    number++;
    const customer = { id: `cus-${number % CUSTOMERS}` };
    const order: Order = { id: `ord-${number}`, customer, lines: [{ sku: "A-100", quantity: 1 }], ...given };
    return { id: order.id, customerId: order.customer.id, body: JSON.stringify(order) };
  }

  async function post(order: SentOrder, token: string): Promise<{ status: number; text: string }> {
    const response = await fetch(`${gatewayUrl}/webhook/orders`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-webhook-token": token, "x-event-id": order.id },
      body: order.body,
    });
    const { status } = response;
    statuses.push(status);
    if (status < 300) accepted.push(order);
    return { status, text: await response.text() };
  }

  async function send(given: Partial<Order> = {}, token = TOKEN): Promise<number> {
    const order = create(given);
    sent(`POST /webhook/orders  ${order.body}`);
    const { status, text } = await post(order, token);
    answered(`${status} ${shorten(text)}`);
    return status;
  }

  return {
    statuses,
    accepted,
    send,
    sendQuietly: async (given = {}) => (await post(create(given), TOKEN)).status,
    async sendMany(count) {
      const told = [await send()];
      while (told.length < count) told.push((await post(create({}), TOKEN)).status);
      say(`… and ${count - 1} more, of ${CUSTOMERS} customers.`);
      return told;
    },
  };
}

/** Problems of the API in their words, other answers without their long ids. */
function shorten(text: string): string {
  const answer = JSON.parse(text) as { code?: string; detail?: string; errors?: { path: string; message: string }[] };
  if (answer.code === undefined) return text.replaceAll(/_\w{20,}/g, "_…");
  const [first] = answer.errors ?? [];
  return first === undefined ? `${answer.code}: ${answer.detail}` : `${answer.code}: ${first.path} ${first.message}`;
}

/** Whether those of each customer came in the order in which they were sent. */
export function isInOrder(sent: readonly SentOrder[], arrivedIds: readonly string[]): boolean {
  const places = new Map(arrivedIds.map((id, place) => [id, place]));
  const last = new Map<string, number>();
  return sent.every(({ id, customerId }) => {
    const place = places.get(id) ?? -1;
    const isLater = place > (last.get(customerId) ?? -1);
    last.set(customerId, place);
    return isLater;
  });
}
