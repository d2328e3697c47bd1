import type { DestinationKind } from "../sender.ts";
import { DestinationAuthInput } from "../destination-auth.ts";
import { presentHttpRecord } from "./present-record.ts";
import { previewRequest } from "./preview.ts";
import { RequestTemplate, templatesOf } from "./request-templates.ts";
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
  templatesOf,
  prepare: prepareHttp,
  secrets: HTTP_SECRETS,
  present: presentHttp,
  named: { DestinationAuth: DestinationAuthInput, RequestTemplate },
  presentRecord: presentHttpRecord,
  open: (services) => ({
    ...openHttpSender(services),
    preview: (attempt) => previewRequest(attempt, services),
  }),
};
