import { DEAD_REASONS } from "../../model/delivery.ts";
import { usageFailure } from "../failure.ts";
import { readCount, readTime } from "../read-value.ts";
import { DELIVERY_CHOICES, DELIVERY_COLUMNS, DELIVERY_DETAILS, FOR_SUBSCRIPTION, printStatus } from "./deliveries.ts";
import type { Row } from "./fields.ts";
import { flag, OF_TENANT } from "./flags.ts";
import { JOB, PLAN, WAIT } from "./replays.ts";
import { type Action, placeOf, type Resource } from "./resource.ts";

const PATH = "/api/v1/dead-letters";

const FILTER = [
  OF_TENANT,
  FOR_SUBSCRIPTION,
  flag("--reason <reason>", "only dead letters with this reason", { choices: DEAD_REASONS }),
  flag("--type <type>", "only this event type", { field: "event_type" }),
  flag("--since <time>", "dead since this time: RFC 3339, or 15m, 2h, 7d ago", { read: readTime }),
  flag("--until <time>", "dead before this time", { read: readTime }),
];

const ALL = flag("--all", "all dead letters");

const ONE_OR_MANY: Pick<Action, "takes" | "follow" | "print" | "check"> = {
  ...JOB,
  takes: "[id]",
  print: (row, call) => (call.args[0] === undefined ? JOB.print?.(row, call) : printStatus(row)),
};

export const RESOURCE: Resource = {
  path: PATH,
  key: "id",
  ...DELIVERY_DETAILS,
  columns: DELIVERY_COLUMNS.filter(([heading]) => heading !== "NEXT"),
  ...DELIVERY_CHOICES,
  actions: {
    list: { help: "list dead letters, latest first", flags: FILTER },
    show: {
      help: "show a dead letter with its attempts",
      path: ({ args: [id] }) => placeOf({ path: "/api/v1/deliveries" }, id),
    },
    replay: {
      ...ONE_OR_MANY,
      help: "deliver dead letters again, with new retries: one, all that match, or all",
      flags: [...FILTER, PLAN, WAIT, ALL],
      path: () => `${PATH}/replay`,
      body: ({ args: [id], body: { plan, ...given } }) =>
        id === undefined ? { ...select(given), plan } : only(id, given),
    },
    purge: {
      ...ONE_OR_MANY,
      help: "delete dead letters for good: one, those that match, or all",
      flags: [
        ...FILTER,
        ALL,
        flag("--confirm <count>", "how many dead letters there are, as reported without this flag", {
          read: readCount,
        }),
        flag("--yes", "delete them however many there are", { field: "confirm", read: () => "purge" }),
        WAIT,
      ],
      path: () => `${PATH}/purge`,
      body: ({ args: [id], body }) => (id === undefined ? select(body) : only(id, body)),
    },
  },
  notes: `

Examples:
  posthorn dlq list --reason refused --since 2h
  posthorn dlq show dlv_…
  posthorn dlq replay dlv_…
  posthorn dlq replay --subscription erp --plan
  posthorn dlq replay --all --wait
  posthorn dlq purge dlv_…
  posthorn dlq purge --reason expired --confirm 12`,
};

function only(id: string, given: Row): Row {
  if (Object.keys(given).length === 0) return { id };
  throw usageFailure(
    "Choose the dead letters with an id, with filters like --reason, or with --all; only one of the three.",
  );
}

/** Requires filters or an explicit `--all`: nobody may select everything by mistake. */
function select({ confirm, all, ...filter }: Row): Row {
  const isFiltered = Object.keys(filter).length > 0;
  if (isFiltered === (all === true)) throw usageFailure("Give filters like --reason, or --all, but not both.");
  return { ...(isFiltered ? { filter } : { all }), confirm };
}
