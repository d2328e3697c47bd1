import type { RequestPreview, Source, StreamEvent, Subscription } from "../../../sdk/src/generated/shapes.ts";
import { suggestName } from "../../model/nearest-name.ts";
import { retryPolicyOf } from "../../model/retry-policy.ts";
import type { RetryPolicySpec } from "../../model/subscription.ts";
import type { ApiClient, Query } from "../api-client.ts";
import { CommandFailure } from "../failure.ts";
import { note } from "../output.ts";
import { describeIds, listAll } from "../resources/resource.ts";
import type { LocalRequest } from "./local-server.ts";

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

const MASK = "***";

export interface BuiltRequest {
  request: LocalRequest;
  hidden: readonly string[];
}

export async function buildReceived(
  client: ApiClient,
  event: StreamEvent,
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

function suffixOf(path: string, hasToken: boolean): string {
  return path.replace(hasToken ? /^\/webhook\/[^/]+(\/[^/]+)?/ : /^\/webhook\/[^/]+/, "");
}

async function readBody(client: ApiClient, event: StreamEvent): Promise<Buffer> {
  if (event.payload_base64 !== undefined) return Buffer.from(event.payload_base64, "base64");
  if (event.payload_omitted !== true) return Buffer.alloc(0);
  const path = `/api/v1/events/${encodeURIComponent(event.event_id)}`;
  const whole = (await client.get(path, { body: "base64" })).read() as StreamEvent;
  if (whole.damage !== undefined) throw new NothingToForward(`${whole.damage}, so it is not forwarded`);
  return Buffer.from(whole.payload_base64 ?? "", "base64");
}

/** The gateway has the event, but no longer as it came in. */
export class NothingToForward extends Error {}

/** Builds the request that the subscription's destination would get: in its format, signed with its secrets. */
export async function buildDelivery(
  client: ApiClient,
  event: StreamEvent,
  subscriptionId: string,
): Promise<BuiltRequest | { problem: string; isFinal: boolean }> {
  const path = `/api/v1/subscriptions/${encodeURIComponent(subscriptionId)}/preview`;
  const json = { event_id: event.event_id };
  const answer = await client.send("POST", path, { json, expected: [403, 404, 409, 422] });
  const shown = answer.read() as RequestPreview & { detail?: string };
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

export interface Listened {
  /** For messages: `the source github`. */
  label: string;
  /** A stable key, under which the position is saved. */
  key: string;
  query: Query;
  /** Undefined for a source. */
  subscription?: { id: string; retryPolicy: RetryPolicySpec };
  pathTokens: ReadonlySet<string>;
}

export async function findListened(
  client: ApiClient,
  given: string | undefined,
  isFollowing: boolean,
): Promise<Listened> {
  const sources = await listAll<Source>(client, "/api/v1/sources");
  const pathTokens = new Set(sources.flatMap(({ name, path_token: token }) => (token === null ? [] : [name])));
  if (given === undefined) return { label: "all incoming requests", key: "all", query: {}, pathTokens };
  const subscriptions = await listAll<Subscription>(client, "/api/v1/subscriptions");
  const byId = subscriptions.filter(({ id }) => id === given);
  const meant = byId.length > 0 ? byId : subscriptions.filter(({ name }) => name === given);
  const isSource = byId.length === 0 && sources.some(({ name }) => name === given);
  const ids = describeIds(meant);
  if (isSource && meant.length > 0) {
    const both = `A source and a subscription have the name "${given}".`;
    throw new CommandFailure(`${both} For the subscription use its id: ${ids}.`);
  }
  if (meant.length > 1) {
    throw new CommandFailure(`${meant.length} subscriptions have the name "${given}": ${ids}. Use an id.`);
  }
  const [subscription] = meant;
  if (subscription === undefined) {
    if (!isSource) noteUndeclared(given, [...sources, ...subscriptions], isFollowing);
    return { label: `the source ${given}`, key: `source ${given}`, query: { source: given }, pathTokens };
  }
  const { id, name } = subscription;
  return {
    label: `the subscription ${name} (${id})`,
    key: `subscription ${id}`,
    query: { subscription_id: id },
    subscription: { id, retryPolicy: retryPolicyOf(subscription as Parameters<typeof retryPolicyOf>[0]) },
    pathTokens,
  };
}

/** While the `*` source is on, webhooks to any name are accepted. */
function noteUndeclared(given: string, known: readonly { name: string }[], isFollowing: boolean): void {
  const names = known.map(({ name }) => name);
  const hint = suggestName(given, names) || ".";
  const what = isFollowing ? "Waiting for" : "Forwarding earlier";
  note(`no source or subscription has the name "${given}"${hint} ${what} webhooks to /webhook/${given}.`);
}
