/** Separate from the shape of an event type, which needs a large package. */
export const EVENT_TYPE_STATUSES = ["active", "deprecated"] as const;
export type EventTypeStatus = (typeof EVENT_TYPE_STATUSES)[number];
