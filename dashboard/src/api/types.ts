// What the gateway answers, from the schemas that its API reference is made of. The only file that knows where types of the
// API come from.
import type { Static } from "typebox";
import type * as smartsheet from "../../../src/plugins/smartsheet/routes.docs.ts";
import type * as alerts from "../../../src/http/routes/alerts.docs.ts";
import type * as audit from "../../../src/http/routes/audit.docs.ts";
import type * as deliveries from "../../../src/http/routes/deliveries.docs.ts";
import type * as events from "../../../src/http/routes/events.docs.ts";
import type * as eventTypes from "../../../src/http/routes/event-types.docs.ts";
import type * as jobs from "../../../src/http/routes/jobs.docs.ts";
import type * as keys from "../../../src/http/routes/keys.docs.ts";
import type * as keyRoutes from "../../../src/http/routes/keys.ts";
import type * as operation from "../../../src/http/routes/operation.docs.ts";
import type * as parked from "../../../src/http/routes/parked.docs.ts";
import type * as replays from "../../../src/http/routes/replays.docs.ts";
import type * as requests from "../../../src/http/routes/requests.docs.ts";
import type * as filters from "../../../src/http/routes/filters.docs.ts";
import type * as session from "../../../src/http/routes/session.docs.ts";
import type * as signIn from "../../../src/http/routes/sign-in.docs.ts";
import type * as sourceKinds from "../../../src/http/routes/source-kinds.docs.ts";
import type * as sources from "../../../src/http/routes/sources.docs.ts";
import type * as statistics from "../../../src/http/routes/statistics.docs.ts";
import type * as stream from "../../../src/http/routes/stream.docs.ts";
import type * as secrets from "../../../src/http/routes/subscription-secrets.docs.ts";
import type * as subscriptions from "../../../src/http/routes/subscriptions.docs.ts";
import type * as tenants from "../../../src/http/routes/tenants.docs.ts";
import type * as tenant from "../../../src/domain/tenant.ts";
import type * as eventType from "../../../src/domain/event-type.ts";
import type * as validations from "../../../src/http/routes/validations.docs.ts";
import type * as targets from "../../../src/http/routes/targets.docs.ts";
import type * as templates from "../../../src/http/routes/templates.docs.ts";
import type * as tests from "../../../src/http/routes/test-delivery.docs.ts";

export type Session = Static<typeof session.Session>;
export type SignInWays = Static<typeof signIn.SignInWays>;
export type Status = Static<typeof operation.GatewayStatus>;
export type Statistics = Static<typeof statistics.GatewayStatistics>;
export type StatisticsSeries = Static<typeof statistics.StatisticsSeries>;
export type StatisticsWindow = StatisticsSeries["window"];
export type Event = Static<typeof events.Event>;
export type EventPage = Static<typeof events.EventPage>;
export type EventWithDeliveries = Static<typeof events.EventWithDeliveries>;
export type Delivery = Static<typeof deliveries.Delivery>;
export type DeliveryWithAttempts = Static<typeof deliveries.DeliveryWithAttempts>;
export type Attempt = Static<typeof deliveries.Attempt>;
export type DeadLetterGroup = Static<typeof deliveries.DeadLetterGroup>;
export type DeadReason = NonNullable<Delivery["dead_reason"]>;
export type Replay = Static<typeof replays.Replay>;
export type ReplayPlan = Static<typeof replays.ReplayPlan>;
export type ReceivedRequest = Static<typeof requests.Request>;
export type RequestWithBody = Static<typeof requests.RequestWithBody>;
export type ReplayedRequest = Static<typeof requests.ReplayedRequest>;
export type Source = Static<typeof sources.Source>;
export type SourceWithSecret = Static<typeof sources.SourceWithSecret>;
export type SourceKind = Static<typeof sourceKinds.SourceKind>;
export type SourceQueue = Static<typeof sourceKinds.SourceQueue>;
export type ParkedMessage = Static<typeof parked.Parked>;
export type ParkedMessageWithBody = Static<typeof parked.ParkedWithBody>;
export type ParkedPage = Static<typeof parked.ParkedPage>;
export type SmartsheetWebhooks = Static<typeof smartsheet.SmartsheetWebhooks>;
export type SmartsheetRegistration = Static<typeof smartsheet.SmartsheetRegistration>;
export type SmartsheetCleanup = Static<typeof smartsheet.SmartsheetCleanup>;
export type Subscription = Static<typeof subscriptions.Subscription>;
export type StatusChange = Static<typeof audit.StatusChange>;
export type Secrets = Static<typeof secrets.Secrets>;
export type Rotation = Static<typeof secrets.Rotation>;
export type TestAttempt = Static<typeof tests.TestAttempt>;
export type FilterResult = Static<typeof filters.FilterResult>;
export type TemplatePreview = Static<typeof templates.TemplatePreview>;
export type { RecoverInclude } from "../../../src/domain/replay.ts";
export type Target = Static<typeof targets.Target>;
export type Alert = Static<typeof alerts.Alert>;
export type AlertRule = Static<typeof alerts.AlertRule>;
export type AuditEntry = Static<typeof audit.AuditEntry>;
export type AuditVerdict = Static<typeof audit.AuditVerdict>;
export type EventType = Static<typeof eventTypes.EventType>;
export type EventTypeInput = eventType.EventTypeInput;
export type Job = Static<typeof jobs.Job>;
export type Key = Static<typeof keys.Key>;
export type KeyInput = keyRoutes.KeyInput;
export type Scope = KeyInput["scopes"][number];
export type NewKey = Key & { key?: string };
export type Tenant = Static<typeof tenants.Tenant>;
export type TenantInput = tenant.TenantInput;
export type PortalLink = Static<typeof tenants.PortalLink>;
export type Validation = Static<typeof validations.Validation>;
export type ValidationVersion = Static<typeof validations.ValidationVersion>;
export type ValidationTryOut = Static<typeof validations.TryOut>;
export type StreamEvent = Static<typeof stream.EventFrame>;
export type StreamAttempt = Static<typeof stream.AttemptFrame>;

export interface Page<Item> {
  data: Item[];
  next_cursor: string | null;
}

/** RFC 9457. */
export interface Problem {
  status: number;
  code: string;
  title: string;
  detail: string;
  field?: string;
  /** Of `confirmation_required`. */
  count?: number;
}
