import { connect } from "../connect.ts";
import { formatBytes, note, printJson } from "../output.ts";
import { ago, asText, at, because, bytes, printRows, type Field, type Moment, type Row } from "./fields.ts";
import { type Call, listAll, placeOf, type Resource } from "./resource.ts";
import { flag } from "./flags.ts";

export const REQUEST_COLUMNS: readonly Field[] = [
  ["REQUEST", "id"],
  ["RECEIVED", "received_at", ago],
  ["FROM", "remote_address"],
  ["WHAT", "method path", (parts) => parts.join(" ")],
  ["SIZE", "size", bytes],
  ["OUTCOME", "outcome"],
  ["CAUSE", "cause"],
  ["REPLAYED", "replayed_at", ago],
];

const PATH = "/api/v1/requests";
const SOURCES = "/api/v1/sources";

export const RESOURCE: Resource = {
  path: PATH,
  key: "id",
  facts: [
    ["request", "id"],
    ["received", "received_at remote_address", ([time, from], moment) => `${at([time], moment)} from ${asText(from)}`],
    [
      "what",
      "method path size",
      ([method, path, size]) => `${asText(method)} ${asText(path)}, ${formatBytes(Number(size))}`,
    ],
    ["outcome", "outcome cause", because],
    ["events", "events", ([events], moment) => (events as Row[]).map((one) => describeEvent(one, moment)).join(", ")],
    [
      "replayed",
      "replayed_at replayed_by",
      ([time, by]) => (time === null ? undefined : `${asText(time)} by ${asText(by) ?? "somebody"}`),
    ],
    ["new events", "replay_event_ids"],
    ["now", "result.outcome result.cause", because],
  ],
  hidden: ["headers"],
  actions: {
    list: {
      help: "list the rejected and ignored requests of all sources, latest first",
      flags: [flag("--source <name>", "only of this source, declared or not", { place: "here" })],
      // The gateway keeps rejected requests by source name.
      path: ({ flags, args: [source] }) => requestsOf(asText(flags["source"]) ?? source),
      run: listRequests,
    },
    show: { help: "show a request and its result" },
    replay: {
      help: "accept a rejected or ignored request after the configuration was corrected; its signature is not checked again",
    },
  },
};

function describeEvent({ event_id: id, outcome, cause }: Row, moment: Moment): string {
  return `${asText(id) ?? "-"} ${because([outcome, cause], moment)}`;
}

function requestsOf(source: string | undefined): string {
  return placeOf({ path: SOURCES }, source, "/requests");
}

async function listRequests({ query, flags }: Call): Promise<void> {
  const { limit } = query;
  const client = await connect(flags);
  const given = asText(flags["source"]);
  const names = given === undefined ? (await listAll(client, SOURCES)).map(({ name }) => asText(name)) : [given];
  const pages = await Promise.all(
    names.map(async (name) => {
      const answer = await client.get(requestsOf(name), { limit: String(limit) });
      return (answer.read() as { data: Row[] }).data;
    }),
  );
  const all = pages.flat().sort((one, other) => (String(one["received_at"]) < String(other["received_at"]) ? 1 : -1));
  const shown = all.slice(0, Number(limit));
  if (flags.json === true) return printJson({ data: shown });
  if (shown.length === 0) return note("nothing found");
  printRows([["SOURCE", "source"], ...REQUEST_COLUMNS], shown, {
    isWide: flags["wide"] === true,
    isAbsolute: flags["times"] === "absolute",
    expendable: ["REPLAYED", "SIZE", "FROM"],
  });
}
