/**
 * The first path segments of all pages of the dashboard; every path below them belongs to it. Its router and the
 * server both use this list. None of them is a route of the API.
 */
export const DASHBOARD_PAGES = [
  "sign-in",
  "overview",
  "events",
  "requests",
  "subscriptions",
  "sources",
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

/** The only page that other sites may show in a frame, if the configuration names them. */
export const FRAMED_PAGE: DashboardPage = "portal";
