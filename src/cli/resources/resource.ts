import { suggestName } from "../../model/nearest-name.ts";
import type { ApiAnswer, ApiClient, Query } from "../api-client.ts";
import type { ClientFlags } from "../connect.ts";
import { CommandFailure } from "../failure.ts";
import { asText, type Field, type Row } from "./fields.ts";
import type { Flag, Input } from "./flags.ts";

/** A group of commands for one resource of the gateway: its path, its columns and facts, and its commands. */
export interface Resource {
  readonly path: string;
  /** The name of the argument that identifies one of them. */
  readonly key: string;
  readonly columns?: readonly Field[];
  /** Headings of the columns that a narrow terminal leaves out, in this order. */
  readonly expendable?: readonly string[];
  /** Set for resources that have an id and a name, and can be given by either. */
  readonly named?: Named;
  /** Fields that are not shown by their plain name and value. */
  readonly facts?: readonly Field[];
  readonly hidden?: readonly string[];
  /** Replaces ids by names before the facts are shown. */
  complete?(client: ApiClient, row: Row): Promise<Row>;
  /** Prints more below the facts; `text` is the unparsed answer. */
  more?(row: Row, text: string): void;
  readonly actions: Readonly<Record<string, Action>>;
  readonly notes?: string;
}

/** A resource whose ids are hard to remember, so it can also be given by name. */
export interface Named {
  readonly noun: string;
  readonly path: string;
  /** The prefix of ids that the gateway created; other ids may be chosen freely. */
  readonly prefix?: string;
  /** The command that creates a missing one. */
  readonly create?: string;
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/**
 * A command. Its name decides the defaults: `list` gets all, `show` gets one, `create`, `update` and `delete` post,
 * patch and delete it; `pause` and the like post to a subpath of that name. It prints the `columns` or the `facts`.
 */
export interface Action {
  readonly help: string;
  readonly flags?: readonly Flag[];
  /** Its arguments in commander's notation; the first is the key. */
  readonly takes?: string;
  /** The choices for its last argument. */
  readonly choices?: { readonly of: readonly string[]; readonly help: string };
  readonly alias?: string;
  readonly notes?: string;
  readonly method?: Method | ((call: Call) => Method);
  /** The path, when it is not the default one. */
  path?(call: Call): string;
  /** The columns, when the list is not of the resource itself. */
  readonly columns?: readonly Field[];
  /** Builds the request body, when it is more than the values of the flags. */
  body?(call: Call): unknown;
  /** Prints the answer, unless JSON was asked for. */
  print?(row: Row, call: Call): void;
  /** With `--wait`: waits for a later answer, which is printed instead. */
  follow?(client: ApiClient, answer: ApiAnswer): Promise<ApiAnswer>;
  /** Checks the answer after it was printed, and throws when the command has failed. */
  check?(row: Row, call: Call): void;
  /** The whole command, when it is not one request. */
  run?(call: Call): Promise<void>;
}

/** A command that belongs to no group. Its help is in the list of all commands. `run` declares the type of its flags. */
export type SingleAction = Omit<Action, "help" | "run"> & { run(call: Call<never>): Promise<void> };

/** The arguments and flags of a command. For `create`, the argument also becomes a member of that name. */
export interface Call<Flags = ClientFlags & Readonly<Record<string, unknown>>> extends Input {
  readonly args: readonly (string | undefined)[];
  readonly flags: Flags;
}

export function placeOf({ path }: Pick<Resource, "path">, key: string | undefined, below = ""): string {
  return `${path}/${encodeURIComponent(key ?? "")}${below}`;
}

export const SUBSCRIPTION: Named = { noun: "subscription", path: "/api/v1/subscriptions", prefix: "sub_" };
/** Normally the first resource that names a tenant creates it; here a misspelt name must not create one. */
export const TENANT: Named = { noun: "tenant", path: "/api/v1/tenants", create: "posthorn tenants create" };
export const KEY: Named = { noun: "key", path: "/api/v1/keys", prefix: "key_" };

const PAGE_SIZE = 500;

/** Finds the id for an id or a name. An id takes precedence. */
export async function findId(client: ApiClient, of: Named, given: string): Promise<string> {
  const { noun, path, prefix, create } = of;
  if (prefix !== undefined && given.startsWith(prefix)) return given;
  const known = await client.get(`${path}/${encodeURIComponent(given)}`, {}, [403, 404]);
  // A key without permission to list leaves the check to the gateway.
  if (known.status !== 404) return given;
  const all = await listAll(client, path);
  const meant = all.filter(({ name }) => name === given);
  const [only, ...others] = meant.map(({ id }) => asText(id) ?? "");
  if (only === undefined) {
    const names = all.map(({ name }) => asText(name) ?? "");
    const hint = create === undefined ? "" : ` \`${create} ${given}\` creates it.`;
    throw new CommandFailure(`No ${noun} has the id or name "${given}"${suggestName(given, names) || "."}${hint}`);
  }
  if (others.length === 0) return only;
  throw new CommandFailure(`${meant.length} ${noun}s have the name "${given}": ${describeIds(meant)}. Use an id.`);
}

/** The ids to choose from, with what tells them apart. */
export function describeIds(rows: readonly { id?: unknown; tenant_id?: unknown }[]): string {
  return rows
    .map(
      ({ id, tenant_id: tenant }) =>
        `${asText(id)}${asText(tenant) === undefined ? "" : ` (tenant ${asText(tenant)})`}`,
    )
    .join(", ");
}

/** Finds the names of ids. An id without a name, or of a resource that may not be listed, is left out. */
export async function listNames(client: ApiClient, { path }: Named): Promise<ReadonlyMap<string, string>> {
  const answer = await client.get(path, { limit: PAGE_SIZE }, [403]);
  if (answer.status === 403) return new Map();
  const { data } = answer.read() as { data: Row[] };
  return new Map(data.flatMap(({ id, name }) => (typeof name === "string" ? [[asText(id) ?? "", name]] : [])));
}

export async function listAll<Item = Row>(
  client: ApiClient,
  path: string,
  query: Query = {},
): Promise<readonly Item[]> {
  const all: Item[] = [];
  let cursor: string | undefined;
  do {
    const answer = await client.get(path, { ...query, limit: PAGE_SIZE, cursor });
    const { data, next_cursor: next } = answer.read() as { data: Item[]; next_cursor: string | null };
    all.push(...data);
    cursor = next ?? undefined;
  } while (cursor !== undefined);
  return all;
}
