/** Apart from the shape of an event type, which takes a large package to describe. */
export const EVENT_TYPE_STATUSES = ["active", "deprecated"] as const;
export type EventTypeStatus = (typeof EVENT_TYPE_STATUSES)[number];
