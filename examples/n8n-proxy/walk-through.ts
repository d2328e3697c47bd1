import type { Example } from "../support/example.ts";
import type { N8nFigures } from "./figures.ts";
import { tellOfOneGateway } from "./one-gateway.ts";
import { tellOfTwoGateways } from "./two-gateways.ts";

export const n8nProxy: Example<N8nFigures> = {
  name: "n8n-proxy",
  summary: "a gateway in front of n8n, which goes down and comes back",
  introduction:
    "A shop sends its orders to n8n at home. A gateway stands between them: it forwards them while n8n is well, and " +
    "keeps them while it is not.",
  flags: { "--queue": "with a second gateway at home, and an Azure Storage queue (Azurite) between the two" },
  walk: (story) => (story.settings.flags?.["queue"] === true ? tellOfTwoGateways(story) : tellOfOneGateway(story)),
};
