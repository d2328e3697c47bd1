import { Argument, type Command } from "commander";
import { readAnswer, type ApiAnswer, type ApiClient } from "../api-client.ts";
import { addClientOptions } from "../client-commands.ts";
import { connect } from "../connect.ts";
import { refuseUnknownCommand } from "../default-command.ts";
import { CommandFailure } from "../failure.ts";
import { print } from "../output.ts";
import { printFields, wholeOf, type Row } from "./fields.ts";
import { findId } from "./find-by-name.ts";
import { findMember, readFlags, setField, type Flag } from "./flags.ts";
import { PAGE, printList } from "./list.ts";
import { placeOf, type Act, type Call, type Resource } from "./resource.ts";

/** Adds the commands of a resource to its group. A group without a command runs its list. */
export function addActs(group: Command, resource: Resource): void {
  for (const [name, act] of Object.entries(resource.acts)) addAct(group, resource, name, act);
  const listing = "list" in resource.acts ? "Without a command, runs `list`. " : "";
  const notes = `${listing}${resource.notes ?? ""}`.replace(/ ?\n/, "\n").trim();
  if (notes !== "") group.addHelpText("after", `\n${notes}`);
}

function addAct(group: Command, resource: Resource, name: string, act: Act): void {
  const isList = name === "list";
  const takes = act.takes ?? (isList ? "" : `<${resource.key}>`);
  const command = group.command(name, { isDefault: isList }).description(act.help);
  const words = takes.split(" ").filter((word) => word !== "");
  words.forEach((word, index) => {
    const { choices } = act;
    const isChosen = choices !== undefined && index === words.length - 1;
    command.addArgument(isChosen ? new Argument(word, choices.help).choices(choices.of) : new Argument(word));
  });
  if (act.alias !== undefined) command.alias(act.alias);
  addClientOptions(command);
  const flags = [...(act.flags ?? []), ...(isListing(name, act) ? PAGE : [])];
  for (const option of flags.flatMap(({ options }) => options)) command.addOption(option);
  if (act.notes !== undefined) command.addHelpText("after", `\n${act.notes}`);
  // An extra argument is most often a misspelt command.
  command.allowExcessArguments(isList).action(async () => {
    if (isList) refuseUnknownCommand(command, group);
    const call = await findIds(resource, name, flags, readCall(command, name, act, flags));
    await (act.run?.(call) ?? runAct(resource, name, act, call));
  });
}

function readCall(command: Command, name: string, act: Act, flags: readonly Flag[]): Call {
  const method = usualMethod(name, act);
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

function isListing(name: string, act: Act): boolean {
  return name === "list" || act.columns !== undefined;
}

function usualMethod(name: string, act: Act): string {
  if (typeof act.method === "string") return act.method;
  if (isListing(name, act) || name === "show") return "GET";
  return name === "update" ? "PATCH" : name === "delete" ? "DELETE" : "POST";
}

const IN_ITS_PLACE = ["show", "update", "delete"];

/** The method and path of the request. */
export function requestOf(resource: Resource, name: string, act: Act, call: Call): { method: string; path: string } {
  const isOfAll = name === "list" || name === "create";
  const below = IN_ITS_PLACE.includes(name) ? "" : `/${name}`;
  const path = act.path?.(call) ?? (isOfAll ? resource.path : placeOf(resource, call.args[0], below));
  return { method: typeof act.method === "function" ? act.method(call) : usualMethod(name, act), path };
}

/** The gateway names a member of the request, which may have another name as a flag. */
function withFlag(error: unknown, flags: readonly Flag[]): unknown {
  if (!(error instanceof CommandFailure) || error.field === undefined) return error;
  const { long } = flags.find(({ field }) => field === error.field)?.options[0] ?? {};
  if (typeof long !== "string" || long === `--${error.field.replaceAll("_", "-")}`) return error;
  return new CommandFailure(`${error.message} The flag for it is ${long}.`, error.exitCode);
}

async function runAct(resource: Resource, name: string, act: Act, call: Call): Promise<void> {
  const { method, path } = requestOf(resource, name, act, call);
  if (isListing(name, act)) {
    const { expendable } = resource;
    return printList(await connect(call.flags), path, call, act.columns ?? resource.columns ?? [], { expendable });
  }
  const body = act.body === undefined ? bodyOf(method, call) : act.body(call);
  const client = await connect(call.flags);
  const first = await send(client, method, path, { ...call, body }).catch((error: unknown) => {
    throw withFlag(error, act.flags ?? []);
  });
  const answer = (await act.follow?.(client, first, call)) ?? first;
  await tellAnswer(resource, name, act, { call, client, answer });
}

/** An empty PATCH body is valid; a POST without settings has no body. */
function bodyOf(method: string, { body }: Call): unknown {
  if (method === "GET" || method === "DELETE") return undefined;
  return method === "POST" && Object.keys(body).length === 0 ? undefined : body;
}

function send(
  client: ApiClient,
  method: string,
  path: string,
  { body, query, headers }: { body?: unknown } & Partial<Pick<Call, "query" | "headers">>,
): Promise<ApiAnswer> {
  const isBytes = body instanceof Uint8Array;
  const type = body === undefined || isBytes ? {} : { "content-type": "application/json" };
  const sent = isBytes ? (body as Uint8Array<ArrayBuffer>) : body === undefined ? undefined : JSON.stringify(body);
  return client.send(method, path, { query, body: sent, headers: { ...type, ...headers } });
}

interface Exchange {
  call: Call;
  client: ApiClient;
  answer: ApiAnswer;
}

async function tellAnswer(resource: Resource, name: string, act: Act, exchange: Exchange): Promise<void> {
  const { call, client, answer } = exchange;
  const [key = ""] = call.args;
  // A deletion is often answered with an empty body.
  const text = answer.text === "" ? JSON.stringify({ [resource.key]: key, deleted: true }) : answer.text;
  const row = readAnswer(client, { ...answer, text }) as Row;
  if (call.flags.json === true) print(text);
  else if (act.tell !== undefined) act.tell(row, call);
  else if (name === "delete") print(`${key}: deleted`);
  else {
    const known = (await resource.complete?.(client, row)) ?? row;
    printFields(wholeOf(known, resource.facts ?? [], resource.hidden ?? []), known);
    resource.more?.(row, text);
  }
  act.judge?.(row, call);
}
