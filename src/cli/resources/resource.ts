import type { ApiAnswer, ApiClient } from "../api-client.ts";
import type { ClientFlags } from "../connect.ts";
import type { Field, Row } from "./fields.ts";
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
  /** Members that are not shown. */
  readonly hidden?: readonly string[];
  /** Replaces ids by names before the facts are shown. */
  complete?(client: ApiClient, row: Row): Promise<Row>;
  /** Prints more below the facts; `text` is the unparsed answer. */
  more?(row: Row, text: string): void;
  /** The commands by name, in the order of the help. */
  readonly acts: Readonly<Record<string, Act>>;
  /** The text at the end of the help. */
  readonly notes?: string;
}

/** A resource whose ids are hard to remember, so it can also be given by name. */
export interface Named {
  readonly noun: string;
  /** The path of the list. */
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
export interface Act {
  readonly help: string;
  /** Flags beside those that every command has. */
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
  /** The columns, when the list is of other things than the resource. */
  readonly columns?: readonly Field[];
  /** Builds the request body, when it is more than the values of the flags. */
  body?(call: Call): unknown;
  /** Prints the answer, unless JSON was asked for. */
  tell?(row: Row, call: Call): void;
  /** Waits for a later answer, which is printed instead. */
  follow?(client: ApiClient, answer: ApiAnswer, call: Call): Promise<ApiAnswer>;
  /** Checks the answer after it was printed, and throws when the command has failed. */
  judge?(row: Row, call: Call): void;
  /** The whole command, when it is not one request. */
  run?(call: Call): Promise<void>;
}

/** The arguments and flags of a command. For `create`, the argument also becomes a member of that name. */
export interface Call extends Input {
  readonly args: readonly (string | undefined)[];
  /** As commander parsed them. */
  readonly flags: ClientFlags & Readonly<Record<string, unknown>>;
}

export function placeOf({ path }: Pick<Resource, "path">, key: string | undefined, below = ""): string {
  return `${path}/${encodeURIComponent(key ?? "")}${below}`;
}
