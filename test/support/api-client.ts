import type { DeliveryState } from "../../src/model/delivery.ts";

/** A small typed client of the gateway's HTTP interface, for tests. */
export interface ApiClient {
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  get(path: string): Promise<Answer>;
  post(path: string, body?: unknown): Promise<Answer>;
  /** To `/webhook/{path}`, as JSON unless the headers say otherwise. */
  webhook(path: string, body: Body, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  publish(event: unknown): Promise<Answer>;
  /** Makes a subscription that must be accepted. */
  subscribe(settings: SubscriptionSettings): Promise<ShownSubscription>;
  event(id: string): Promise<ShownEvent>;
  /** A delivery with its attempts. */
  delivery(id: string): Promise<ShownDelivery>;
  /** The only delivery of an event, with its attempts. */
  deliveryOf(eventId: string): Promise<ShownDelivery>;
  deliveries(query?: string): Promise<readonly ShownDelivery[]>;
  deadLetters(query?: string): Promise<readonly ShownDelivery[]>;
  rejected(source: string): Promise<readonly ShownRequest[]>;
  /** Resolves when every delivery has ended; rejects after some time. */
  settled(withinMs?: number): Promise<void>;
}

type Body = string | Uint8Array<ArrayBuffer>;

export interface RequestOptions {
  body?: Body | undefined;
  headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The body read as JSON; an empty object when it is none. */
  json: Record<string, unknown>;
}

export interface SubscriptionSettings {
  name: string;
  url: string;
  [field: string]: unknown;
}

export interface ShownSubscription extends Record<string, unknown> {
  id: string;
  status: string;
  secret: string;
}

export interface ShownEvent extends Record<string, unknown> {
  event_id: string;
  status: "PENDING" | "COMPLETED" | "FAILED";
  unmatched: boolean;
  deliveries: ShownDelivery[];
}

export interface ShownDelivery extends Record<string, unknown> {
  id: string;
  event_id: string;
  subscription_id: string;
  status: DeliveryState;
  hold_reason: string | null;
  dead_reason: string | null;
  attempt_count: number;
  attempts: ShownAttempt[];
}

export interface ShownAttempt extends Record<string, unknown> {
  number: number;
  result: string;
  trigger: string;
  response_code: number | null;
  started_at: string;
}

export interface ShownRequest extends Record<string, unknown> {
  id: string;
  source: string;
  outcome: string;
  cause: string | null;
}

/** Long enough for a machine that is busy with much else: only what never comes is given up. */
export const PATIENCE_MS = 120_000;

export function createApiClient(gateway: { url: () => string }, key: string | undefined): ApiClient {
  async function request(method: string, path: string, { body, headers }: RequestOptions = {}): Promise<Answer> {
    const response = await fetch(gateway.url() + path, {
      method,
      headers: { ...(key !== undefined && { authorization: `Bearer ${key}` }), ...headers },
      redirect: "manual",
      ...(body !== undefined && { body }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parse(text) };
  }

  function post(path: string, body?: unknown): Promise<Answer> {
    if (body === undefined) return request("POST", path);
    return request("POST", path, { body: JSON.stringify(body), headers: { "content-type": "application/json" } });
  }

  async function shown<Shape>(path: string): Promise<Shape> {
    const answer = await request("GET", path);
    if (answer.status !== 200) throw new Error(`GET ${path} answered ${answer.status}: ${answer.text}`);
    return answer.json as Shape;
  }

  async function list<Shape>(path: string): Promise<readonly Shape[]> {
    return (await shown<{ data: Shape[] }>(path)).data;
  }

  const event = (id: string) => shown<ShownEvent>(`/api/v1/events/${encodeURIComponent(id)}`);
  const delivery = (id: string) => shown<ShownDelivery>(`/api/v1/deliveries/${id}`);

  return {
    request,
    get: (path) => request("GET", path),
    post,
    webhook: (path, body, headers) =>
      request("POST", `/webhook/${path}`, { body, headers: { "content-type": "application/json", ...headers } }),
    publish: (event) => post("/api/v1/events", event),
    async subscribe(settings) {
      const answer = await post("/api/v1/subscriptions", { events: ["*"], ...settings });
      if (answer.status !== 201) throw new Error(`no subscription: ${answer.status} ${answer.text}`);
      return answer.json as ShownSubscription;
    },
    event,
    delivery,
    async deliveryOf(eventId) {
      const [only, ...others] = (await event(eventId)).deliveries;
      if (only === undefined || others.length > 0) throw new Error(`${eventId} has not one delivery`);
      return delivery(only.id);
    },
    deliveries: (query = "") => list(`/api/v1/deliveries?limit=500&${query}`),
    deadLetters: (query = "") => list(`/api/v1/dead-letters?limit=500&${query}`),
    rejected: (source) => list(`/api/v1/sources/${source}/requests?limit=500`),
    async settled(withinMs = PATIENCE_MS) {
      await until(async () => (await shown<{ queue_length: number }>("/status")).queue_length === 0, withinMs);
    },
  };
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}

const POLL_MS = 10;

/** Waits for a condition, in place of a sleep; rejects when it never comes true. */
export async function until(
  isTrue: () => boolean | Promise<boolean>,
  withinMs = PATIENCE_MS,
  what = "the condition",
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`${what} did not come true within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
