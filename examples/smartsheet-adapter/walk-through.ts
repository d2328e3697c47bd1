import type { Example } from "../support/example.ts";
import type { SmartsheetFigures } from "./figures.ts";
import { tellOfServiceBus } from "./with-service-bus.ts";
import { tellOfTheAdapter } from "./the-adapter.ts";

export const smartsheetAdapter: Example<SmartsheetFigures> = {
  name: "smartsheet-adapter",
  summary: "changes in Smartsheet's sheets for a core app that is down for a while",
  introduction:
    "People change rows in Smartsheet. A core app wants each change once and in the order of its sheet, even after it " +
    "was down. Smartsheet is played by a test server that behaves as its documentation says.",
  flags: { "--service-bus": "with a queue of Azure Service Bus (a test server) between Smartsheet and the core app" },
  walk: (story) => (story.settings.flags?.["service-bus"] === true ? tellOfServiceBus(story) : tellOfTheAdapter(story)),
};
