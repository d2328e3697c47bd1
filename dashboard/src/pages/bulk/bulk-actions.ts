import { queryOptions } from "@tanstack/react-query";
import { sendJson } from "../../api/client.ts";
import type { ReplayPlan } from "../../api/types.ts";
import type { Filters } from "../../layout/view-filters.ts";
import { selectionOf } from "./selection.ts";

/** What can be done to many deliveries at once: it is counted first, and is then a job with a page of its own. */
export interface BulkAction {
  kind: BulkName;
  filters: Filters;
}

type BulkName = "events" | "replay" | "purge" | "cancel";

interface BulkKind {
  title: string;
  verb: string;
  nouns: readonly [one: string, several: string];
  path: string;
  /** What counts the same deliveries and does nothing. */
  planPath: string;
  /** The query keys of what is different afterwards. */
  changes: readonly string[];
  /** What the API must be told besides the filter. */
  also?: object;
  /** Where nothing is lost, it is asked less sternly. */
  isHarmless?: boolean;
  explain: (many: string) => string;
}

const LETTERS = ["dead letter", "dead letters"] as const;

export const BULK_ACTIONS: Readonly<Record<BulkName, BulkKind>> = {
  events: {
    title: "Replay events",
    verb: "Replay",
    nouns: ["delivery", "deliveries"],
    path: "/api/v1/replays",
    planPath: "/api/v1/replays",
    also: { kind: "events" },
    isHarmless: true,
    changes: ["events", "event", "deliveries"],
    explain: (many) =>
      `${many} of these events will be made once more, to the subscriptions that had them, a few at a time and behind new events. Those that are still open are left alone.`,
  },
  replay: {
    isHarmless: true,
    title: "Replay dead letters",
    verb: "Replay",
    nouns: LETTERS,
    path: "/api/v1/dead-letters/replay",
    planPath: "/api/v1/dead-letters/replay",
    changes: ["dead-letters"],
    explain: (many) =>
      `${many} will be sent again, to the subscriptions that they were for, a few at a time and behind new events.`,
  },
  purge: {
    title: "Purge dead letters?",
    verb: "Purge",
    nouns: LETTERS,
    path: "/api/v1/dead-letters/purge",
    planPath: "/api/v1/dead-letters/replay",
    changes: ["dead-letters"],
    explain: (many) => `${many} will be deleted for good. They cannot be sent again afterwards.`,
  },
  cancel: {
    title: "Cancel open deliveries?",
    verb: "Cancel",
    nouns: ["delivery", "deliveries"],
    path: "/api/v1/deliveries/cancel",
    planPath: "/api/v1/deliveries/cancel",
    changes: ["deliveries", "subscription", "subscriptions"],
    explain: (many) => `${many} will not be sent. Their events stay, and can be replayed later.`,
  },
};

/** How many deliveries fit, without doing anything. */
export const bulkPlanQuery = ({ kind, filters }: BulkAction) =>
  queryOptions({
    queryKey: ["bulk-plan", kind, filters],
    queryFn: () => {
      const { planPath, also } = BULK_ACTIONS[kind];
      return sendJson<ReplayPlan>("POST", planPath, { ...also, ...selectionOf(filters), plan: true });
    },
    staleTime: 0,
    gcTime: 0,
  });
