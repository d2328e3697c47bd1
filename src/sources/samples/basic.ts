import { generic } from "./generic.ts";
import type { Sample } from "./sample.ts";

export const basic: Sample = {
  kind: "basic",
  needsSecret: true,
  events: generic.events,
  sign: (_request, { secret }) => ({
    headers: { authorization: `Basic ${Buffer.from(secret, "utf8").toString("base64")}` },
  }),
};
