// What the gateway takes and answers: the types of the SDK, which are written from the API reference. Types only, so nothing
// of the SDK is loaded. What has no name of its own in the API reference gets one here.
import type * as shapes from "../../../sdk/src/generated/shapes.ts";

export type * from "../../../sdk/src/generated/shapes.ts";

export type EventPage = shapes.EventsListPage;
export type SeriesWindow = shapes.StatisticsSeries["window"];
export type DeadReason = NonNullable<shapes.Delivery["dead_reason"]>;
export type ReceivedRequest = shapes.Request;
export type ReplayedRequest = shapes.RequestsReplayAnswer;
export type ParkedMessageWithBody = shapes.SourcesGetParkedAnswer;
export type ParkedPage = shapes.SourcesListParkedPage;
export type SmartsheetWebhooks = shapes.SmartsheetListWebhooksAnswer;
export type SmartsheetRegistration = shapes.SmartsheetRegisterWebhooksAnswer;
export type SmartsheetCleanup = shapes.SmartsheetCleanupWebhooksAnswer;
export type StatusChange = shapes.SubscriptionsListHistoryItem;
export type FilterResult = shapes.FiltersTestAnswer;
export type TemplatePreview = shapes.TemplatesPreviewAnswer;
export type RecoverInclude = NonNullable<shapes.SubscriptionsRecoverBody["include"]>;
export type AuditVerdict = shapes.AuditVerifyAnswer;
export type KeyInput = shapes.KeysCreateBody;
export type Scope = KeyInput["scopes"][number];

export interface Page<Item> {
  data: Item[];
  next_cursor: string | null;
}
