import { DELIVERY_STATES } from "../../model/delivery.ts";
import { print, printFacts, shorten } from "../output.ts";
import { ago, asText, because, firstOf, ms, printRows, type Field, type Row } from "./fields.ts";
import type { Resource } from "./resource.ts";
import { flag, OF_TENANT, subscriptionFlag } from "./flags.ts";

const STATUS = ["status hold_reason dead_reason", because] as const;

export const DELIVERY_COLUMNS: readonly Field[] = [
  ["DELIVERY", "id"],
  ["TYPE", "event_type"],
  ["SUBSCRIPTION", "subscription_name subscription_id", firstOf],
  ["STATUS", ...STATUS],
  ["ATTEMPTS", "attempt_count"],
  ["NEXT", "next_attempt_at", ago],
  ["CREATED", "created_at", ago],
  ["LAST ERROR", "last_error"],
  ["EVENT", "event_id"],
];

export const DELIVERY_CHOICES = { expendable: ["EVENT", "CREATED", "NEXT", "ATTEMPTS"] };

const ATTEMPT_COLUMNS: readonly Field[] = [
  ["ATTEMPT", "number"],
  ["STARTED", "started_at", ago],
  ["TOOK", "duration_ms", ms],
  ["TRIGGER", "trigger"],
  ["RESULT", "result"],
  ["ANSWER", "response_code"],
  ["ERROR", "error"],
];

const MAX_BODY_CHARACTERS = 400;

export const FOR_SUBSCRIPTION = subscriptionFlag("only deliveries of this subscription, by name or id");

export function printStatus({ id, status, hold_reason: hold, dead_reason: dead }: Row): void {
  print(`${asText(id)}: ${asText(status)}${asText(hold ?? dead) === undefined ? "" : ` (${asText(hold ?? dead)})`}`);
}

export const DELIVERY_DETAILS: Pick<Resource, "facts" | "hidden" | "more"> = {
  facts: [
    ["delivery", "id"],
    ["event", "event_id event_type", because],
    ["subscription", "subscription_id subscription_name", because],
    ["status", ...STATUS],
    ["next attempt", "next_attempt_at", ago],
    ["completed", "completed_at", ago],
  ],
  hidden: ["attempts"],
  more(row) {
    const attempts = row["attempts"] as Row[];
    const last = asText(attempts.at(-1)?.["response_body"]) ?? "";
    if (attempts.length > 0) {
      print("");
      printRows(ATTEMPT_COLUMNS, attempts);
    }
    if (last === "") return;
    print("");
    printFacts([["last answer", shorten(last, MAX_BODY_CHARACTERS)]]);
  },
};

export const RESOURCE: Resource = {
  path: "/api/v1/deliveries",
  key: "id",
  columns: DELIVERY_COLUMNS,
  ...DELIVERY_CHOICES,
  ...DELIVERY_DETAILS,
  actions: {
    list: {
      help: "list deliveries, latest first",
      flags: [
        OF_TENANT,
        flag("--status <status>", "only in this state", { choices: DELIVERY_STATES }),
        FOR_SUBSCRIPTION,
      ],
    },
    show: { help: "show a delivery with its attempts" },
    retry: { help: "retry a delivery now, whatever its state", print: printStatus },
    cancel: { help: "cancel a delivery", print: printStatus },
  },
  notes: `\`posthorn deliveries list --help\` shows the filters.

Examples:
  posthorn deliveries --status pending
  posthorn deliveries show dlv_…
  posthorn deliveries retry dlv_…`,
};
