import type { CommandTools } from "../plugin.ts";
import type { ApiAnswer } from "./api-client.ts";
import { connect, type ClientFlags } from "./connect.ts";
import { CommandFailure } from "./failure.ts";
import { countOf, formatAgo, note, openProgress, print, printJson, printTable } from "./output.ts";

export async function openCommandTools(flags: ClientFlags): Promise<CommandTools> {
  const client = await connect(flags);
  const wrap = ({ text, read }: ApiAnswer) => ({ text, parse: read });
  return {
    get: async (path, query) => wrap(await client.get(path, query)),
    post: async (path, json) => wrap(await client.send("POST", path, { json })),
    print,
    printJson,
    printTable,
    note,
    openProgress,
    countOf,
    formatAgo: (time) => formatAgo(time, Date.now()),
    failure: (message) => new CommandFailure(message),
  };
}
