import { generic } from "./generic.ts";
import type { Sample } from "./sample.ts";

export const apiKey: Sample = {
  kind: "api-key",
  needsSecret: true,
  events: generic.events,
  sign: (_request, { secret, options }) => ({
    headers: { [String(options["header"] ?? "x-api-key").toLowerCase()]: secret },
  }),
};
