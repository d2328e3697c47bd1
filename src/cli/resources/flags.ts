import { Option } from "commander";
import { readObject } from "../read-value.ts";
import { type Named, SUBSCRIPTION, TENANT } from "./resource.ts";

/** A flag of a command, and the part of the request that it sets. */
export interface Flag {
  /** Two when there is a `--no-…` too. */
  readonly options: readonly Option[];
  /** The member of the body or the query, with dots for nested ones; or the header. */
  readonly field: string;
  /** By default the query for GET and DELETE, the body for all other methods. */
  readonly place?: Place | undefined;
  /** Converts the given value into the value that is sent; undefined sends nothing. */
  readonly read: Read;
  /** The value is an id or a name of this resource; the id is sent. */
  readonly named?: Named | undefined;
}

/** `file`: a file with members of the body, which flags override. `here`: only for the command itself, never sent. */
type Place = "body" | "query" | "header" | "file" | "here";

/** `given` comes from commander: a text, a list of texts, or true. */
export type Read = (given: unknown, flag: string) => unknown;

export interface FlagSettings {
  field?: string;
  place?: Place;
  read?: (text: string, flag: string) => unknown;
  choices?: readonly string[];
  default?: unknown;
  isRequired?: boolean;
  named?: Named;
}

/** A flag that is in no schema: `flag("--plan", "only count them")` sets `plan`. */
export function flag(flags: string, help: string, settings: FlagSettings = {}): Flag {
  const option = new Option(flags, help).makeOptionMandatory(settings.isRequired === true);
  if (settings.choices !== undefined) option.choices(settings.choices);
  if (settings.default !== undefined) option.default(settings.default);
  const { read } = settings;
  return {
    options: [option],
    field: settings.field ?? option.name().replaceAll("-", "_"),
    place: settings.place,
    named: settings.named,
    read: read === undefined ? (given) => given : (given, name) => read(String(given), name),
  };
}

/** A flag for the command itself: nothing of it is sent. */
export const ownFlag = (flags: string, help: string, settings: FlagSettings = {}): Flag =>
  flag(flags, help, { ...settings, place: "here" });

export function switchFlag(
  name: string,
  [on, off]: readonly [on: string, off: string],
  { field, read = (isOn) => isOn }: { field: string; read?: (isOn: boolean) => unknown },
): Flag {
  const options = [new Option(name, on), new Option(name.replace("--", "--no-"), off)];
  return { options, field, read: (given) => read(given === true) };
}

export interface Input {
  body: Record<string, unknown>;
  query: Record<string, string | readonly string[]>;
  headers: Record<string, string>;
}

export function readFlags(
  flags: readonly Flag[],
  given: Readonly<Record<string, unknown>>,
  usual: "body" | "query",
): Input {
  const input: Input = { body: {}, query: {}, headers: {} };
  let file: object = {};
  for (const { options, field, place = usual, read } of flags) {
    const [option] = options;
    if (option === undefined || place === "here" || given[option.attributeName()] === undefined) continue;
    const value = read(given[option.attributeName()], option.long ?? option.flags);
    if (value === undefined) continue;
    if (place === "body") setMember(input.body, field.split("."), value);
    else if (place === "file") file = value as object;
    else if (place === "header") input.headers[field] = String(value);
    else input.query[field] = Array.isArray(value) ? value.map(String) : String(value);
  }
  return { ...input, body: { ...file, ...input.body } };
}

export function findMember({ body, query }: Pick<Input, "body" | "query">, field: string): unknown {
  if (query[field] !== undefined) return query[field];
  return field
    .split(".")
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], body);
}

export function setField({ body, query }: Pick<Input, "body" | "query">, field: string, value: string): void {
  if (query[field] === undefined) setMember(body, field.split("."), value);
  else query[field] = value;
}

function setMember(object: Record<string, unknown>, [name = "", ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) object[name] = value;
  else setMember((object[name] ??= {}) as Record<string, unknown>, rest, value);
}

export const FILE = flag("--file <path>", "settings as JSON or yaml, - for standard input; flags override it", {
  place: "file",
  read: readObject,
});

export const subscriptionFlag = (help: string): Flag =>
  flag("--subscription <name>", help, { field: "subscription_id", named: SUBSCRIPTION });

export const OF_TENANT = flag("--tenant <tenant>", "only of this tenant", { field: "tenant_id" });
export const OWNER = flag("--tenant <tenant>", "its tenant (for keys that are not bound to a tenant)", {
  field: "tenant_id",
  named: TENANT,
});
export const IDEMPOTENCY_KEY = flag(
  "--idempotency-key <key>",
  "repeating a request with the same key creates nothing twice",
  { field: "idempotency-key", place: "header" },
);
export const IF_MATCH = flag("--if-match <etag>", "only if this is still its version", {
  field: "if-match",
  place: "header",
});
