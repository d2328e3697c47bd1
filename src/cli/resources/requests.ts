import { formatBytes } from "../output.ts";
import { ago, asText, at, because, bytes, type Field, type Format, type Moment, type Row } from "./fields.ts";
import type { Resource } from "./resource.ts";
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

const what: Format = ([method, path, size]) => `${asText(method)} ${asText(path)}, ${formatBytes(Number(size))}`;
const replayed: Format = ([time, by]) => (time === null ? undefined : `${asText(time)} by ${asText(by) ?? "somebody"}`);

export const RESOURCE: Resource = {
  path: "/api/v1/requests",
  key: "id",
  columns: [["SOURCE", "source"], ...REQUEST_COLUMNS],
  expendable: ["REPLAYED", "SIZE", "FROM"],
  facts: [
    ["request", "id"],
    ["received", "received_at remote_address", ([time, from], moment) => `${at([time], moment)} from ${asText(from)}`],
    ["what", "method path size", what],
    ["outcome", "outcome cause", because],
    ["events", "events", ([events], moment) => (events as Row[]).map((one) => describeEvent(one, moment)).join(", ")],
    ["replayed", "replayed_at replayed_by", replayed],
    ["new events", "replay_event_ids"],
    ["now", "result.outcome result.cause", because],
  ],
  hidden: ["headers"],
  actions: {
    list: {
      help: "list the rejected and ignored requests of all sources, latest first",
      flags: [flag("--source <name>", "only of this source, declared or not")],
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
