import type { CommandTools } from "../plugin.ts";
import { readAnswer, type ApiAnswer } from "./api-client.ts";
import { connect, type ClientFlags } from "./connect.ts";
import { CommandFailure } from "./failure.ts";
import { countOf, formatAgo, note, print, printJson, printTable } from "./output.ts";
import { openProgress } from "./progress.ts";

const JSON_TYPE = { "content-type": "application/json" };

export async function openCommandTools(flags: ClientFlags): Promise<CommandTools> {
  const client = await connect(flags);
  const wrap = (answer: ApiAnswer) => ({ text: answer.text, parse: () => readAnswer(client, answer) });
  return {
    get: async (path, query) => wrap(await client.get(path, query)),
    post: async (path, body) => wrap(await client.post(path, JSON.stringify(body), JSON_TYPE)),
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
