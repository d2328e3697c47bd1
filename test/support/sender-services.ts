import { createConnections } from "../../src/queues/connections.ts";
import type { SenderServices } from "../../src/destinations/sender.ts";
import { openTemplates } from "../../src/sandbox/templates/open-templates.ts";
import { createSeededRandom } from "./seeded-random.ts";

/** What a gateway would give to those who send. */
export function senderServices(parts: Pick<SenderServices, "clock"> & Partial<SenderServices>): SenderServices {
  return {
    client: { request: () => undefined, close: () => Promise.resolve() },
    userAgent: "Posthorn/contract",
    publicHost: "gateway.example.com",
    checkUrl: () => undefined,
    findOwnUrlProblem: () => undefined,
    openCredentials: () => ({}),
    findForward: () => undefined,
    connections: createConnections({
      connections: [],
      label: "contract",
      clock: parts.clock,
      random: createSeededRandom(1),
    }),
    // Its threads start when something is rendered.
    templates: openTemplates(),
    origin: "str_contract",
    warn: () => undefined,
    ...parts,
  };
}
