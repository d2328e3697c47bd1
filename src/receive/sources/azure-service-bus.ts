import { Type } from "typebox";
import { pullOptions } from "../pulled/pull-options.ts";
import type { BrokerKindSpec } from "./broker-kind.ts";

/** Locks last for at least as long, by the service's default and whatever is usual beside it. */
const HOLD_MS = 30_000;

/** A queue of Azure Service Bus, or the dead letters of one (`NAME/$DeadLetterQueue`). */
export const AZURE_SERVICE_BUS: BrokerKindSpec = {
  name: "azure-service-bus",
  options: pullOptions({
    sessions: Type.Optional(
      Type.Boolean({
        default: false,
        description: "The queue has sessions: those of one are taken in their order, by one taker at a time",
      }),
    ),
  }),
  pull: { limits: { holdMs: HOLD_MS, canRenew: true } },
  describeTaker: ({ sessions = false }) => ({
    parkTo: { destination: "", subject: "" },
    sessions: sessions === true,
    holdMs: HOLD_MS,
  }),
};
