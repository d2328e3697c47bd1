import type { DestinationKind } from "../sender.ts";
import { DestinationAuthInput } from "./auth.ts";
import { presentHttpRecord } from "./present-record.ts";
import { HTTP_SECRETS } from "./secrets.ts";
import { openHttpSender } from "./sender.ts";
import { checkHttpSettings } from "./settings-rules.ts";
import { HttpSettings, prepareHttp, presentHttp } from "./settings.ts";

/** Webhooks: a signed request for each delivery. */
export const HTTP: DestinationKind<HttpSettings> = {
  name: "http",
  settings: HttpSettings,
  isFlat: true,
  canForward: true,
  healthSettings: ["health_url"],
  check: checkHttpSettings,
  prepare: prepareHttp,
  secrets: HTTP_SECRETS,
  present: presentHttp,
  named: { DestinationAuth: DestinationAuthInput },
  presentRecord: presentHttpRecord,
  open: openHttpSender,
};
