import { EVENT_STATUSES } from "../../model/delivery.ts";
import { memberSpans } from "../../model/json.ts";
import { countOf, print } from "../output.ts";
import { readTime } from "../read-value.ts";
import { DELIVERY_CHOICES, DELIVERY_COLUMNS } from "./deliveries.ts";
import { ago, asText, bytes, printRows, type Format, type Row } from "./fields.ts";
import { type Call, type Resource } from "./resource.ts";
import { flag, OF_TENANT, subscriptionFlag } from "./flags.ts";

const STATUS: readonly [string, Format] = [
  "status unmatched",
  ([status, isUnmatched]) => (isUnmatched === true ? `${asText(status)} (unmatched)` : asText(status)),
];

const deliveriesOf = (row: Row) => row["deliveries"] as Row[];

export const RESOURCE: Resource = {
  path: "/api/v1/events",
  key: "id",
  columns: [
    ["EVENT", "event_id"],
    ["TYPE", "event_type"],
    ["SOURCE", "source"],
    ["STATUS", ...STATUS],
    ["DELIVERIES", "delivery_count"],
    ["SIZE", "size", bytes],
    ["RECEIVED", "received_at", ago],
  ],
  expendable: ["SIZE", "DELIVERIES", "SOURCE"],
  facts: [
    ["event", "event_id"],
    ["type", "event_type event_version", ([type, version]) => `${asText(type)} (version ${asText(version)})`],
    ["status", ...STATUS],
  ],
  hidden: ["headers", "deliveries", "payload", "payload_base64"],
  more(row, text) {
    if (deliveriesOf(row).length > 0) {
      print("");
      printRows(DELIVERY_COLUMNS, deliveriesOf(row), DELIVERY_CHOICES);
    }
    print(`\n${findPayload(text)}`);
  },
  actions: {
    list: {
      help: "list events, latest first",
      flags: [
        OF_TENANT,
        flag(
          "--type <type>",
          "only this event type, or types that match a pattern: * is one word, # any number of words",
          { field: "event_type" },
        ),
        flag("--source <name>", "only from this source"),
        flag("--since <time>", "received since this time: RFC 3339, or 15m, 2h, 7d ago", { read: readTime }),
        flag("--until <time>", "received before this time", { read: readTime }),
        flag("--status <status>", "only events whose deliveries have this result", { choices: EVENT_STATUSES }),
        flag("--unmatched", "only events that no subscription wanted"),
        flag("--id <id>", "with this id; ID* means those that begin so"),
        flag("--ordering-key <key>", "with this ordering key"),
        flag("--label <name[=value]...>", "with this member of the metadata; may be given several times"),
        flag("--text <text>", "with this text in the payload, large or small letters"),
      ],
    },
    show: { help: "show an event with its deliveries and its payload" },
    replay: {
      help: "deliver an event again to all subscriptions that got it",
      flags: [subscriptionFlag("only to this subscription, by name or id, even if it did not get the event before")],
      print: printReplay,
    },
  },
  notes: `\`posthorn events list --help\` shows the filters.

Examples:
  posthorn events --type order.created --since 2h
  posthorn events --status FAILED --type 'order.#' --label team=billing
  posthorn events --text 'invoice 4711' --since 7d
  posthorn events show evt_…
  posthorn events replay evt_… --subscription erp`,
};

function printReplay(row: Row, { args }: Call): void {
  const deliveries = deliveriesOf(row);
  print(`${args[0]}: ${countOf(deliveries.length, "delivery", "deliveries")} opened again`);
  if (deliveries.length > 0) printRows(DELIVERY_COLUMNS, deliveries, DELIVERY_CHOICES);
}

/** Prints the payload as it was sent: parsing and writing it again would change numbers beyond 2^53. */
function findPayload(text: string): string {
  const json = Buffer.from(text);
  const spans = memberSpans(json, 0, json.length);
  const span = spans.get("payload") ?? spans.get("payload_base64");
  return span === undefined ? "" : json.toString("utf8", span.start, span.end);
}
