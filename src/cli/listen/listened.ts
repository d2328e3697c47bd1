import { suggestName } from "../../model/nearest-name.ts";
import type { RetryPolicySpec } from "../../model/subscription.ts";
import { retryPolicyOf } from "../../model/retry-policy.ts";
import type { ApiClient, Query } from "../api-client.ts";
import { CommandFailure } from "../failure.ts";
import { note } from "../output.ts";
import { asText, type Row } from "../resources/fields.ts";
import { describeIds, listAll } from "../resources/find-by-name.ts";

/** The source or subscription to listen to, or everything. */
export interface Listened {
  /** For messages: `the source github`. */
  label: string;
  /** A stable key, under which the position is saved. */
  key: string;
  query: Query;
  subscription: { id: string; retryPolicy: RetryPolicySpec } | undefined;
  /** Sources whose paths contain a token. */
  pathTokens: ReadonlySet<string>;
}

/** Finds a source or a subscription by its name or id; everything when none is given. */
export async function findListened(
  client: ApiClient,
  given: string | undefined,
  isFollowing: boolean,
): Promise<Listened> {
  const sources = await listAll(client, "/api/v1/sources");
  const pathTokens = new Set(
    sources.filter(({ path_token: token }) => token !== null).map(({ name }) => asText(name) ?? ""),
  );
  if (given === undefined) {
    return { label: "all incoming requests", key: "all", query: {}, subscription: undefined, pathTokens };
  }
  const subscriptions = await listAll(client, "/api/v1/subscriptions");
  const byId = subscriptions.filter(({ id }) => id === given);
  const meant = byId.length > 0 ? byId : subscriptions.filter(({ name }) => name === given);
  const isSource = byId.length === 0 && sources.some(({ name }) => name === given);
  if (isSource && meant.length > 0) {
    throw new CommandFailure(
      `A source and a subscription have the name "${given}". For the subscription use its id: ${describeIds(meant)}.`,
    );
  }
  if (meant.length > 1) {
    throw new CommandFailure(
      `${meant.length} subscriptions have the name "${given}": ${describeIds(meant)}. Use an id.`,
    );
  }
  const [subscription] = meant;
  if (subscription !== undefined) return toSubscription(subscription, pathTokens);
  if (!isSource) noteUndeclared(given, [...sources, ...subscriptions], isFollowing);
  return {
    label: `the source ${given}`,
    key: `source ${given}`,
    query: { source: given },
    subscription: undefined,
    pathTokens,
  };
}

function toSubscription(row: Row, pathTokens: ReadonlySet<string>): Listened {
  const id = asText(row["id"]) ?? "";
  const set = Object.fromEntries(
    ["retry_policy", "retry_count", "retry_interval"].map((name) => [name, row[name] ?? undefined]),
  );
  return {
    label: `the subscription ${asText(row["name"])} (${id})`,
    key: `subscription ${id}`,
    query: { subscription_id: id },
    subscription: { id, retryPolicy: retryPolicyOf(set) },
    pathTokens,
  };
}

/** While the `*` source is on, webhooks to any name are accepted. */
function noteUndeclared(given: string, rows: readonly Row[], isFollowing: boolean): void {
  const names = rows.map(({ name }) => asText(name) ?? "");
  const hint = suggestName(given, names) || ".";
  const what = isFollowing ? "Waiting for" : "Forwarding earlier";
  note(`no source or subscription has the name "${given}"${hint} ${what} webhooks to /webhook/${given}.`);
}
