/**
 * The first part of every address that the dashboard has a page at, below which all is the dashboard's. Its router and the
 * server both take them from here; none of them is a route of the API.
 */
export const DASHBOARD_PAGES = [
  "sign-in",
  "overview",
  "events",
  "requests",
  "subscriptions",
  "sources",
  "smartsheet",
  "targets",
  "validation",
  "dead-letters",
  "bulk",
  "event-types",
  "alerts",
  "audit",
  "jobs",
  "keys",
  "tenants",
  "portal",
] as const;
export type DashboardPage = (typeof DASHBOARD_PAGES)[number];

/** The only page that other sites may show in a frame, those that the configuration names. */
export const FRAMED_PAGE: DashboardPage = "portal";
