import type { ApiAnswer, ApiClient } from "../api-client.ts";
import type { ClientFlags } from "../connect.ts";
import type { Field, Row } from "./fields.ts";
import type { Flag, Input } from "./flags.ts";

/** A group of commands: where the gateway has such things, what is shown of one, and what can be done with them. */
export interface Resource {
  readonly path: string;
  /** What one of them goes by: the name of its argument. */
  readonly key: string;
  readonly columns?: readonly Field[];
  /** Headings of the columns that a narrow terminal leaves out, the first one first. */
  readonly expendable?: readonly string[];
  /** It has an id and a name, and goes by both. */
  readonly named?: Named;
  /** What is shown of one in another way than its name and its value tell. */
  readonly facts?: readonly Field[];
  /** Members that are not among the facts. */
  readonly hidden?: readonly string[];
  /** Printed below the facts; `text` is the answer as it came. */
  more?(row: Row, text: string): void;
  /** By their names, in the order of the help. */
  readonly acts: Readonly<Record<string, Act>>;
  /** At the end of the help. */
  readonly notes?: string;
}

/** Things whose ids nobody remembers. */
export interface Named {
  readonly noun: string;
  /** Where they are listed. */
  readonly path: string;
  /** What an id begins with that the gateway made; others may be chosen. */
  readonly prefix?: string;
  /** How one is created that is missing. */
  readonly create?: string;
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/**
 * A command. What it leaves out goes by its name: `list` gets all, `show` gets one, `create`, `update` and `delete` post,
 * patch and delete it; `pause` and the like post to a path of that name below it. It prints what `columns` or `facts` say.
 */
export interface Act {
  readonly help: string;
  /** Beside those that every command has. */
  readonly flags?: readonly Flag[];
  /** Its arguments, as commander writes them; the first is the key. */
  readonly takes?: string;
  /** What its last argument may be. */
  readonly choices?: { readonly of: readonly string[]; readonly help: string };
  readonly alias?: string;
  readonly notes?: string;
  readonly method?: Method | ((call: Call) => Method);
  /** From the first slash of the API on. */
  path?(call: Call): string;
  /** A list of other things than those of the resource. */
  readonly columns?: readonly Field[];
  /** What is sent, when it is not just what the flags say. */
  body?(call: Call): unknown;
  /** What is printed of the answer, when it was not asked for as JSON. */
  tell?(row: Row, call: Call): void;
  /** Waits for a later answer, which is printed in its place. */
  follow?(client: ApiClient, answer: ApiAnswer, call: Call): Promise<ApiAnswer>;
  /** Looks at the answer, printed or not, and fails. */
  judge?(row: Row, call: Call): void;
  /** All of it, when it is not one request. */
  run?(call: Call): Promise<void>;
}

/** What a command was given. What is made gets its argument as a member of that name. */
export interface Call extends Input {
  readonly args: readonly (string | undefined)[];
  /** As commander has them. */
  readonly flags: ClientFlags & Readonly<Record<string, unknown>>;
}

export function placeOf({ path }: Pick<Resource, "path">, key: string | undefined, below = ""): string {
  return `${path}/${encodeURIComponent(key ?? "")}${below}`;
}
