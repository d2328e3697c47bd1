import { HOT_OPERATIONS, INTAKE_DOCS } from "../routes/intake.docs.ts";
import { AUDIT_DOCS } from "../routes/audit.docs.ts";
import { ALERT_DOCS } from "../routes/alerts.docs.ts";
import { DELIVERY_DOCS } from "../routes/deliveries.docs.ts";
import { DOCUMENTATION_DOCS } from "../routes/documentation.docs.ts";
import { EVENT_DOCS } from "../routes/events.docs.ts";
import { EVENT_TYPE_DOCS } from "../routes/event-types.docs.ts";
import { FILTER_DOCS } from "../routes/filters.docs.ts";
import { JOB_DOCS } from "../routes/jobs.docs.ts";
import { KEY_DOCS } from "../routes/keys.docs.ts";
import { OPERATION_DOCS } from "../routes/operation.docs.ts";
import { REPLAY_DOCS } from "../routes/replays.docs.ts";
import { REQUEST_DOCS } from "../routes/requests.docs.ts";
import { PARKED_DOCS } from "../routes/parked.docs.ts";
import { SESSION_DOCS } from "../routes/session.docs.ts";
import { SIGN_IN_DOCS } from "../routes/sign-in.docs.ts";
import { SOURCE_DOCS } from "../routes/sources.docs.ts";
import { SOURCE_KIND_DOCS } from "../routes/source-kinds.docs.ts";
import { STATISTICS_DOCS } from "../routes/statistics.docs.ts";
import { STREAM_DOCS } from "../routes/stream.docs.ts";
import { SUBSCRIPTION_DOCS } from "../routes/subscriptions.docs.ts";
import { SUBSCRIPTION_SECRET_DOCS } from "../routes/subscription-secrets.docs.ts";
import { TARGET_DOCS } from "../routes/targets.docs.ts";
import { TEMPLATE_DOCS } from "../routes/templates.docs.ts";
import { TENANT_DOCS } from "../routes/tenants.docs.ts";
import { TEST_DELIVERY_DOCS } from "../routes/test-delivery.docs.ts";
import { VALIDATION_DOCS } from "../routes/validations.docs.ts";
import { PLUGINS } from "../../plugins.ts";
import { buildDocument } from "./document.ts";
import type { DocumentedRoute } from "./documented-routes.ts";
import { describeOutgoing } from "./outgoing.docs.ts";
import type { Json } from "./schema-writer.ts";

/** In the order of the reference. Loaded on the first request for it, to save memory until then. */
export const AREAS = [
  INTAKE_DOCS,
  EVENT_DOCS,
  STREAM_DOCS,
  SUBSCRIPTION_DOCS,
  TEST_DELIVERY_DOCS,
  SUBSCRIPTION_SECRET_DOCS,
  FILTER_DOCS,
  TEMPLATE_DOCS,
  TARGET_DOCS,
  DELIVERY_DOCS,
  REPLAY_DOCS,
  STATISTICS_DOCS,
  SOURCE_DOCS,
  SOURCE_KIND_DOCS,
  PARKED_DOCS,
  REQUEST_DOCS,
  EVENT_TYPE_DOCS,
  VALIDATION_DOCS,
  ...(await Promise.all(PLUGINS.map((plugin) => plugin.loadDocs()))),
  TENANT_DOCS,
  KEY_DOCS,
  SESSION_DOCS,
  SIGN_IN_DOCS,
  AUDIT_DOCS,
  JOB_DOCS,
  ALERT_DOCS,
  OPERATION_DOCS,
  DOCUMENTATION_DOCS,
];

export function buildReference(routes: readonly DocumentedRoute[], version: string): Json {
  return buildDocument({ version, routes: [...HOT_OPERATIONS, ...routes], areas: AREAS, webhooks: describeOutgoing });
}
