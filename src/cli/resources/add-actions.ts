import { Argument, type Command } from "commander";
import { addClientOptions, rejectUnknownCommand } from "../local-commands.ts";
import { connect } from "../connect.ts";
import { CommandFailure } from "../failure.ts";
import { print } from "../output.ts";
import { printFields, wholeOf, type Row } from "./fields.ts";
import { type Action, type Call, findId, placeOf, type Resource, type SingleAction } from "./resource.ts";
import { findMember, readFlags, setField, type Flag } from "./flags.ts";
import { PAGE, printList } from "./list.ts";

/** Adds the commands of a resource to its group. A group without a command runs its list. */
export function addActions(group: Command, resource: Resource): void {
  for (const [name, action] of Object.entries(resource.actions)) {
    const isList = name === "list";
    const command = group.command(name, { isDefault: isList }).description(action.help);
    if (isList) rejectUnknownCommand(command, group);
    fillCommand(command, resource, action);
  }
  const listing = "list" in resource.actions ? "Without a command, runs `list`. " : "";
  const notes = `${listing}${resource.notes ?? ""}`.replace(/ ?\n/, "\n").trim();
  if (notes !== "") group.addHelpText("after", `\n${notes}`);
}

export function addSingleAction(command: Command, action: SingleAction): void {
  fillCommand(command, { path: "", key: "", actions: {} }, { takes: "", help: "", ...action });
}

function fillCommand(command: Command, resource: Resource, action: Action): void {
  const name = command.name();
  const takes = action.takes ?? (name === "list" ? "" : `<${resource.key}>`);
  const words = takes.split(" ").filter((word) => word !== "");
  words.forEach((word, index) => {
    const { choices } = action;
    const isChosen = choices !== undefined && index === words.length - 1;
    command.addArgument(isChosen ? new Argument(word, choices.help).choices(choices.of) : new Argument(word));
  });
  if (action.alias !== undefined) command.alias(action.alias);
  addClientOptions(command);
  const flags = [...(action.flags ?? []), ...(isListing(name, action) ? PAGE : [])];
  for (const option of flags.flatMap(({ options }) => options)) command.addOption(option);
  if (action.notes !== undefined) command.addHelpText("after", `\n${action.notes}`);
  command.action(async () => {
    const call = await findIds(resource, name, flags, readCall(command, name, action, flags));
    await (action.run?.(call) ?? runAction(resource, name, action, call));
  });
}

function readCall(command: Command, name: string, action: Action, flags: readonly Flag[]): Call {
  const method = usualMethod(name, action);
  const input = readFlags(flags, command.opts(), method === "GET" || method === "DELETE" ? "query" : "body");
  const args = command.processedArgs as Call["args"];
  const [argument] = command.registeredArguments;
  if (name === "create" && argument !== undefined && args[0] !== undefined) input.body[argument.name()] = args[0];
  return { ...input, args, flags: command.opts() };
}

/** Replaces names by ids before any request. */
async function findIds(resource: Resource, name: string, flags: readonly Flag[], call: Call): Promise<Call> {
  const { named } = resource;
  const [key, ...rest] = call.args;
  const isOne = named !== undefined && key !== undefined && name !== "create";
  const given = flags.filter(({ named: of, field }) => of !== undefined && findMember(call, field) !== undefined);
  if (!isOne && given.length === 0) return call;
  const client = await connect(call.flags);
  for (const { named: of, field } of given) {
    if (of !== undefined) setField(call, field, await findId(client, of, String(findMember(call, field))));
  }
  return isOne ? { ...call, args: [await findId(client, named, key), ...rest] } : call;
}

function isListing(name: string, action: Action): boolean {
  return name === "list" || action.columns !== undefined;
}

function usualMethod(name: string, action: Action): string {
  if (typeof action.method === "string") return action.method;
  if (isListing(name, action) || name === "show") return "GET";
  return name === "update" ? "PATCH" : name === "delete" ? "DELETE" : "POST";
}

const IN_ITS_PLACE = ["show", "update", "delete"];

export function requestOf(
  resource: Resource,
  name: string,
  action: Action,
  call: Call,
): { method: string; path: string } {
  const isOfAll = name === "list" || name === "create";
  const below = IN_ITS_PLACE.includes(name) ? "" : `/${name}`;
  const path = action.path?.(call) ?? (isOfAll ? resource.path : placeOf(resource, call.args[0], below));
  return { method: typeof action.method === "function" ? action.method(call) : usualMethod(name, action), path };
}

/** The gateway names a member of the request, which may have another name as a flag. */
function withFlag(error: unknown, flags: readonly Flag[]): unknown {
  if (!(error instanceof CommandFailure) || error.field === undefined) return error;
  const { long } = flags.find(({ field }) => field === error.field)?.options[0] ?? {};
  if (typeof long !== "string" || long === `--${error.field.replaceAll("_", "-")}`) return error;
  return new CommandFailure(`${error.message} The flag for it is ${long}.`, error.exitCode);
}

async function runAction(resource: Resource, name: string, action: Action, call: Call): Promise<void> {
  const { method, path } = requestOf(resource, name, action, call);
  if (isListing(name, action)) {
    const { expendable } = resource;
    return printList(await connect(call.flags), path, call, action.columns ?? resource.columns ?? [], { expendable });
  }
  const body = action.body === undefined ? bodyOf(method, call) : action.body(call);
  const client = await connect(call.flags);
  const { query, headers } = call;
  const content = body instanceof Uint8Array ? { body: body as Uint8Array<ArrayBuffer> } : { json: body };
  const first = await client.send(method, path, { query, headers, ...content }).catch((error: unknown) => {
    throw withFlag(error, action.flags ?? []);
  });
  const later = call.flags["wait"] === true ? await action.follow?.(client, first) : undefined;
  const answer = later ?? first;
  const [key = ""] = call.args;
  // A deletion is often answered with an empty body.
  const isEmpty = answer.text === "";
  const row = (isEmpty ? { [resource.key]: key, deleted: true } : answer.read()) as Row;
  const text = isEmpty ? JSON.stringify(row) : answer.text;
  if (call.flags.json === true) print(text);
  else if (action.print !== undefined) action.print(row, call);
  else if (name === "delete") print(`${key}: deleted`);
  else {
    const known = (await resource.complete?.(client, row)) ?? row;
    printFields(wholeOf(known, resource.facts ?? [], resource.hidden ?? []), known);
    resource.more?.(row, text);
  }
  action.check?.(row, call);
}

/** An empty PATCH body is valid; a POST without settings has no body. */
function bodyOf(method: string, { body }: Call): unknown {
  if (method === "GET" || method === "DELETE") return undefined;
  return method === "POST" && Object.keys(body).length === 0 ? undefined : body;
}
