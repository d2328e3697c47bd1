import type { Attempt } from "../api/types.ts";

/** Why an attempt was made. */
export const TRIGGERS: Readonly<Record<Attempt["trigger"], string>> = {
  first: "the first attempt",
  retry: "a retry after a failure",
  manual: "sent by hand",
  replay: "a replay",
};
