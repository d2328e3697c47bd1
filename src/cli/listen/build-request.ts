import type { ApiClient } from "../api-client.ts";
import { readAnswer } from "../api-client.ts";
import type { LocalRequest } from "./local-server.ts";
import type { Listened } from "./listened.ts";

/** An event of the live stream, with its body. */
export interface ListenedEvent {
  event_id: string;
  event_type: string;
  source: string;
  received_at: string;
  content_type: string | null;
  size: number;
  headers?: Readonly<Record<string, string | readonly string[]>>;
  request?: { method: string; path: string; query: string };
  payload_base64?: string;
  /** The body is too large for a frame. */
  payload_omitted?: boolean;
  damage?: string;
  /** Set when the body was erased. */
  body_erased_at: string | null;
}

/** RFC 9110, 7.6.1: these headers belong to one connection. The others are set by the local request itself. */
const NOT_HANDED_ON = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** The text that the gateway shows instead of a credential. */
const MASK = "***";

export interface BuiltRequest {
  request: LocalRequest;
  /** Headers whose values the gateway never shows. */
  hidden: readonly string[];
}

/** Builds the request as it was received. */
export async function buildReceived(
  client: ApiClient,
  event: ListenedEvent,
  { pathTokens }: Pick<Listened, "pathTokens">,
): Promise<BuiltRequest> {
  const { method = "POST", path = "", query = "" } = event.request ?? {};
  const all = Object.entries(event.headers ?? {}).flatMap(([name, value]) =>
    [value].flat().map((one) => [name, one] as const),
  );
  const kept = all.filter(([name, value]) => !NOT_HANDED_ON.has(name) && value !== MASK);
  const type = event.content_type;
  const own = event.headers === undefined && type !== null ? [["content-type", type] as const] : [];
  return {
    request: {
      method,
      path: suffixOf(path, pathTokens.has(event.source)),
      query,
      headers: [...own, ...kept, ["posthorn-event-id", event.event_id], ["posthorn-event-type", event.event_type]],
      body: await readBody(client, event),
    },
    hidden: [...new Set(all.filter(([, value]) => value === MASK).map(([name]) => name))],
  };
}

/** The part of the path after the source's name and its token. */
function suffixOf(path: string, hasToken: boolean): string {
  return path.replace(hasToken ? /^\/webhook\/[^/]+(\/[^/]+)?/ : /^\/webhook\/[^/]+/, "");
}

async function readBody(client: ApiClient, event: ListenedEvent): Promise<Buffer> {
  if (event.payload_base64 !== undefined) return Buffer.from(event.payload_base64, "base64");
  if (event.payload_omitted !== true) return Buffer.alloc(0);
  const path = `/api/v1/events/${encodeURIComponent(event.event_id)}`;
  const whole = readAnswer(client, await client.get(path, { body: "base64" })) as ListenedEvent;
  if (whole.damage !== undefined) throw new DamagedBody(whole.damage);
  return Buffer.from(whole.payload_base64 ?? "", "base64");
}

/** The gateway has the event, but not as it came in. */
export class DamagedBody extends Error {}

/** Builds the request that the subscription's destination would get: in its format, signed with its secrets. */
export async function buildDelivery(
  client: ApiClient,
  event: ListenedEvent,
  subscriptionId: string,
): Promise<BuiltRequest | { problem: string; isFinal: boolean }> {
  const path = `/api/v1/subscriptions/${encodeURIComponent(subscriptionId)}/preview`;
  const answer = await client.send("POST", path, {
    body: JSON.stringify({ event_id: event.event_id }),
    headers: { "content-type": "application/json" },
    expected: [403, 404, 409, 422],
  });
  const shown = readAnswer(client, answer) as {
    method: string;
    headers: readonly { name: string; value: string }[];
    body_base64: string;
    detail?: string;
  };
  // A missing permission, and a kind without requests, will not change with the next event.
  if (answer.status >= 400) return { problem: shown.detail ?? "", isFinal: [403, 422].includes(answer.status) };
  const pairs = shown.headers.map(({ name, value }) => [name, value] as const);
  return {
    request: {
      method: shown.method,
      path: "",
      query: "",
      headers: pairs.filter(([, value]) => value !== MASK),
      body: Buffer.from(shown.body_base64, "base64"),
    },
    hidden: pairs.filter(([, value]) => value === MASK).map(([name]) => name),
  };
}
