import { Type } from "typebox";
import { pullOptions } from "./pull-options.ts";
import type { BrokerKindSpec } from "./broker-kind.ts";

/** Locks last at least this long with the service's default and usual settings. */
const HOLD_MS = 30_000;

/** A queue of Azure Service Bus, or the dead letters of one (`NAME/$DeadLetterQueue`). */
export const AZURE_SERVICE_BUS: BrokerKindSpec = {
  name: "azure-service-bus",
  options: pullOptions({
    sessions: Type.Optional(
      Type.Boolean({
        default: false,
        description: "The queue has sessions: messages of a session are received in order, by one consumer at a time",
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
