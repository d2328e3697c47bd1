import type { Subscription } from "../../api/types.ts";

/** As people say it: who pauses a subscription looks for it under "paused". */
export const STATUS_WORDS: Readonly<Record<Subscription["status"], string>> = {
  active: "active",
  inactive: "paused",
  suspended: "suspended",
};
