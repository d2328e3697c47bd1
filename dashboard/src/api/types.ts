// What the gateway answers, from the schemas that its API reference is made of. The only file that knows where types of the
// API come from.
import type { Static } from "typebox";
import type * as alerts from "../../../src/http/routes/alerts.docs.ts";
import type * as audit from "../../../src/http/routes/audit.docs.ts";
import type * as deliveries from "../../../src/http/routes/deliveries.docs.ts";
import type * as events from "../../../src/http/routes/events.docs.ts";
import type * as filters from "../../../src/http/routes/filters.docs.ts";
import type * as operation from "../../../src/http/routes/operation.docs.ts";
import type * as replays from "../../../src/http/routes/replays.docs.ts";
import type * as session from "../../../src/http/routes/session.docs.ts";
import type * as statistics from "../../../src/http/routes/statistics.docs.ts";
import type * as stream from "../../../src/http/routes/stream.docs.ts";
import type * as secrets from "../../../src/http/routes/subscription-secrets.docs.ts";
import type * as subscriptions from "../../../src/http/routes/subscriptions.docs.ts";
import type * as targets from "../../../src/http/routes/targets.docs.ts";
import type * as templates from "../../../src/http/routes/templates.docs.ts";
import type * as tests from "../../../src/http/routes/test-delivery.docs.ts";

export type Session = Static<typeof session.Session>;
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
export type Subscription = Static<typeof subscriptions.Subscription>;
export type StatusChange = Static<typeof audit.StatusChange>;
export type Secrets = Static<typeof secrets.Secrets>;
export type Rotation = Static<typeof secrets.Rotation>;
export type TestAttempt = Static<typeof tests.TestAttempt>;
export type FilterResult = Static<typeof filters.FilterResult>;
export type TemplatePreview = Static<typeof templates.TemplatePreview>;
export type { RecoverInclude } from "../../../src/domain/replay.ts";
export type Replay = Static<typeof replays.Replay>;
export type ReplayPlan = Static<typeof replays.ReplayPlan>;
export type Target = Static<typeof targets.Target>;
export type Alert = Static<typeof alerts.Alert>;
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
}
