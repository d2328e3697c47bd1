import type { ComponentType } from "react";
import type { Session } from "../api/types.ts";
import type { DashboardPage } from "../../../src/api/dashboard/pages.ts";
import { lazy, type LazyComponent } from "../ui/lazy.tsx";

/** Everything that can be opened, in the order of the navigation. A new page is a line here. */
export interface PageEntry {
  page: DashboardPage;
  label: string;
  /** Below `/page`, as wouter writes them. */
  routes: Readonly<Record<string, LazyComponent>>;
  /** With `g` before it. */
  shortcut: string;
  /** Only for keys with the scope admin: its API answers no others. */
  isForAdmins?: boolean;
  /** Not for keys that are bound to a tenant. */
  isForOperators?: boolean;
  /** Partners see it too. */
  isForPartners?: boolean;
}

/** A page is loaded when it is first opened. */
function page<Name extends string>(load: () => Promise<Record<Name, ComponentType>>, name: Name): LazyComponent {
  return lazy(async () => ({ default: (await load())[name] }));
}

const PAGES: readonly PageEntry[] = [
  {
    page: "overview",
    label: "Overview",
    shortcut: "o",
    routes: { "": page(() => import("../pages/overview/overview-page.tsx"), "OverviewPage") },
  },
  {
    page: "events",
    label: "Events",
    shortcut: "e",
    routes: {
      "": page(() => import("../pages/events/events-page.tsx"), "EventsPage"),
      "/:id": page(() => import("../pages/events/event-page.tsx"), "EventPage"),
    },
    isForPartners: true,
  },
  {
    page: "subscriptions",
    label: "Subscriptions",
    shortcut: "s",
    routes: {
      "": page(() => import("../pages/subscriptions/subscriptions-page.tsx"), "SubscriptionsPage"),
      "/new": page(() => import("../pages/subscriptions/subscription-form-page.tsx"), "NewSubscriptionPage"),
      "/:id": page(() => import("../pages/subscriptions/subscription-page.tsx"), "SubscriptionPage"),
      "/:id/edit": page(() => import("../pages/subscriptions/subscription-form-page.tsx"), "EditSubscriptionPage"),
    },
    isForPartners: true,
  },
  {
    page: "targets",
    label: "Targets",
    shortcut: "t",
    routes: {
      "": page(() => import("../pages/targets/targets-page.tsx"), "TargetsPage"),
      "/new": page(() => import("../pages/targets/target-form-page.tsx"), "NewTargetPage"),
      "/:key": page(() => import("../pages/targets/target-page.tsx"), "TargetPage"),
      "/:key/edit": page(() => import("../pages/targets/target-form-page.tsx"), "EditTargetPage"),
    },
  },
  {
    page: "requests",
    label: "Requests",
    shortcut: "r",
    routes: {
      "": page(() => import("../pages/requests/requests-page.tsx"), "RequestsPage"),
      "/:id": page(() => import("../pages/requests/request-page.tsx"), "RequestPage"),
    },
  },
  {
    page: "dead-letters",
    label: "Dead letters",
    shortcut: "d",
    routes: { "": page(() => import("../pages/dead-letters/dead-letters-page.tsx"), "DeadLettersPage") },
    isForPartners: true,
  },
  {
    page: "bulk",
    label: "Replays",
    shortcut: "b",
    routes: {
      "": page(() => import("../pages/bulk/replays-page.tsx"), "ReplaysPage"),
      "/:id": page(() => import("../pages/bulk/replay-page.tsx"), "ReplayPage"),
    },
    isForPartners: true,
  },
  {
    page: "sources",
    label: "Sources",
    shortcut: "i",
    // No source has a name that begins with a dash.
    routes: {
      "": page(() => import("../pages/sources/sources-page.tsx"), "SourcesPage"),
      "/-new": page(() => import("../pages/sources/new-source-page.tsx"), "NewSourcePage"),
      "/:name": page(() => import("../pages/sources/source-page.tsx"), "SourcePage"),
      "/:name/edit": page(() => import("../pages/sources/edit-source-page.tsx"), "EditSourcePage"),
    },
  },
  {
    page: "event-types",
    label: "Event types",
    shortcut: "y",
    routes: {
      "": page(() => import("../pages/event-types/event-types-page.tsx"), "EventTypesPage"),
      "/:name": page(() => import("../pages/event-types/event-type-page.tsx"), "EventTypePage"),
    },
    isForPartners: true,
  },
  {
    page: "validation",
    label: "Validations",
    shortcut: "v",
    routes: {
      "": page(() => import("../pages/validation/validations-page.tsx"), "ValidationsPage"),
      "/:endpoint": page(() => import("../pages/validation/validation-page.tsx"), "ValidationPage"),
    },
    isForAdmins: true,
    isForOperators: true,
  },
  {
    page: "alerts",
    label: "Alerts",
    shortcut: "a",
    routes: {
      "": page(() => import("../pages/alerts/alerts-page.tsx"), "AlertsPage"),
      "/:id": page(() => import("../pages/alerts/alert-page.tsx"), "AlertPage"),
    },
  },
  {
    page: "tenants",
    label: "Tenants",
    shortcut: "n",
    routes: {
      "": page(() => import("../pages/tenants/tenants-page.tsx"), "TenantsPage"),
      "/:id": page(() => import("../pages/tenants/tenant-page.tsx"), "TenantPage"),
    },
    isForAdmins: true,
    isForOperators: true,
  },
  {
    page: "audit",
    label: "Audit",
    shortcut: "l",
    routes: { "": page(() => import("../pages/audit/audit-page.tsx"), "AuditPage") },
    isForAdmins: true,
  },
  {
    page: "jobs",
    label: "Jobs",
    shortcut: "j",
    routes: { "": page(() => import("../pages/jobs/jobs-page.tsx"), "JobsPage") },
    isForAdmins: true,
    isForOperators: true,
  },
  {
    page: "keys",
    label: "Keys",
    shortcut: "k",
    routes: { "": page(() => import("../pages/keys/keys-page.tsx"), "KeysPage") },
    isForAdmins: true,
  },
];

/** The names of those that need more than the scope read. */
export const ADMIN_PAGES = PAGES.filter(({ isForAdmins }) => isForAdmins === true).map(({ label }) => label);

/** The page at this path, also when this session may not see it; none for partners, who see no pages of others. */
export function findPage(path: string, { portal }: Session): PageEntry | undefined {
  return portal === null ? PAGES.find(({ page }) => page === path.split("/")[1]) : undefined;
}

/** Those that somebody with this session can use. */
export function pagesFor({ portal, tenant_id: tenantId, scopes }: Session): readonly PageEntry[] {
  if (portal !== null) return PAGES.filter(({ isForPartners }) => isForPartners === true);
  return PAGES.filter(
    ({ isForOperators, isForAdmins }) =>
      (isForOperators !== true || tenantId === null) && (isForAdmins !== true || scopes.includes("admin")),
  );
}
