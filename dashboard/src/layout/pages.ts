import type { Session } from "../api/types.ts";
import type { DashboardPage } from "../../../src/http/dashboard/pages.ts";
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

const OverviewPage = lazy(() =>
  import("../pages/overview/overview-page.tsx").then((module) => ({ default: module.OverviewPage })),
);
const EventsPage = lazy(() =>
  import("../pages/events/events-page.tsx").then((module) => ({ default: module.EventsPage })),
);
const EventPage = lazy(() =>
  import("../pages/events/event-page.tsx").then((module) => ({ default: module.EventPage })),
);
const AlertsPage = lazy(() =>
  import("../pages/alerts/alerts-page.tsx").then((module) => ({ default: module.AlertsPage })),
);
const AlertPage = lazy(() =>
  import("../pages/alerts/alert-page.tsx").then((module) => ({ default: module.AlertPage })),
);
const KeysPage = lazy(() => import("../pages/keys/keys-page.tsx").then((module) => ({ default: module.KeysPage })));
const TenantsPage = lazy(() =>
  import("../pages/tenants/tenants-page.tsx").then((module) => ({ default: module.TenantsPage })),
);
const TenantPage = lazy(() =>
  import("../pages/tenants/tenant-page.tsx").then((module) => ({ default: module.TenantPage })),
);
const AuditPage = lazy(() => import("../pages/audit/audit-page.tsx").then((module) => ({ default: module.AuditPage })));
const EventTypesPage = lazy(() =>
  import("../pages/event-types/event-types-page.tsx").then((module) => ({ default: module.EventTypesPage })),
);
const EventTypePage = lazy(() =>
  import("../pages/event-types/event-type-page.tsx").then((module) => ({ default: module.EventTypePage })),
);
const JobsPage = lazy(() => import("../pages/jobs/jobs-page.tsx").then((module) => ({ default: module.JobsPage })));
const ValidationsPage = lazy(() =>
  import("../pages/validation/validations-page.tsx").then((module) => ({ default: module.ValidationsPage })),
);
const ValidationPage = lazy(() =>
  import("../pages/validation/validation-page.tsx").then((module) => ({ default: module.ValidationPage })),
);

const DeadLettersPage = lazy(() =>
  import("../pages/dead-letters/dead-letters-page.tsx").then((module) => ({ default: module.DeadLettersPage })),
);
const ReplaysPage = lazy(() =>
  import("../pages/bulk/replays-page.tsx").then((module) => ({ default: module.ReplaysPage })),
);
const ReplayPage = lazy(() =>
  import("../pages/bulk/replay-page.tsx").then((module) => ({ default: module.ReplayPage })),
);
const RequestsPage = lazy(() =>
  import("../pages/requests/requests-page.tsx").then((module) => ({ default: module.RequestsPage })),
);
const RequestPage = lazy(() =>
  import("../pages/requests/request-page.tsx").then((module) => ({ default: module.RequestPage })),
);

const SourcesPage = lazy(() =>
  import("../pages/sources/sources-page.tsx").then((module) => ({ default: module.SourcesPage })),
);
const SourcePage = lazy(() =>
  import("../pages/sources/source-page.tsx").then((module) => ({ default: module.SourcePage })),
);
const NewSourcePage = lazy(() =>
  import("../pages/sources/new-source-page.tsx").then((module) => ({ default: module.NewSourcePage })),
);
const EditSourcePage = lazy(() =>
  import("../pages/sources/edit-source-page.tsx").then((module) => ({ default: module.EditSourcePage })),
);

const SubscriptionsPage = lazy(() =>
  import("../pages/subscriptions/subscriptions-page.tsx").then((module) => ({ default: module.SubscriptionsPage })),
);
const SubscriptionPage = lazy(() =>
  import("../pages/subscriptions/subscription-page.tsx").then((module) => ({ default: module.SubscriptionPage })),
);
const NewSubscriptionPage = lazy(() =>
  import("../pages/subscriptions/subscription-form-page.tsx").then((module) => ({
    default: module.NewSubscriptionPage,
  })),
);
const EditSubscriptionPage = lazy(() =>
  import("../pages/subscriptions/subscription-form-page.tsx").then((module) => ({
    default: module.EditSubscriptionPage,
  })),
);
const TargetsPage = lazy(() =>
  import("../pages/targets/targets-page.tsx").then((module) => ({ default: module.TargetsPage })),
);
const TargetPage = lazy(() =>
  import("../pages/targets/target-page.tsx").then((module) => ({ default: module.TargetPage })),
);
const NewTargetPage = lazy(() =>
  import("../pages/targets/target-form-page.tsx").then((module) => ({ default: module.NewTargetPage })),
);
const EditTargetPage = lazy(() =>
  import("../pages/targets/target-form-page.tsx").then((module) => ({ default: module.EditTargetPage })),
);

const PAGES: readonly PageEntry[] = [
  { page: "overview", label: "Overview", shortcut: "o", routes: { "": OverviewPage } },
  {
    page: "events",
    label: "Events",
    shortcut: "e",
    routes: { "": EventsPage, "/:id": EventPage },
    isForPartners: true,
  },
  {
    page: "subscriptions",
    label: "Subscriptions",
    shortcut: "s",
    routes: {
      "": SubscriptionsPage,
      "/new": NewSubscriptionPage,
      "/:id": SubscriptionPage,
      "/:id/edit": EditSubscriptionPage,
    },
    isForPartners: true,
  },
  {
    page: "targets",
    label: "Targets",
    shortcut: "t",
    routes: { "": TargetsPage, "/new": NewTargetPage, "/:key": TargetPage, "/:key/edit": EditTargetPage },
  },
  { page: "requests", label: "Requests", shortcut: "r", routes: { "": RequestsPage, "/:id": RequestPage } },
  {
    page: "dead-letters",
    label: "Dead letters",
    shortcut: "d",
    routes: { "": DeadLettersPage },
    isForPartners: true,
  },
  {
    page: "bulk",
    label: "Replays",
    shortcut: "b",
    routes: { "": ReplaysPage, "/:id": ReplayPage },
    isForPartners: true,
  },
  {
    page: "sources",
    label: "Sources",
    shortcut: "i",
    // No source has a name that begins with a dash.
    routes: { "": SourcesPage, "/-new": NewSourcePage, "/:name": SourcePage, "/:name/edit": EditSourcePage },
  },
  {
    page: "event-types",
    label: "Event types",
    shortcut: "y",
    routes: { "": EventTypesPage, "/:name": EventTypePage },
    isForPartners: true,
  },
  {
    page: "validation",
    label: "Validations",
    shortcut: "v",
    routes: { "": ValidationsPage, "/:endpoint": ValidationPage },
    isForAdmins: true,
    isForOperators: true,
  },
  { page: "alerts", label: "Alerts", shortcut: "a", routes: { "": AlertsPage, "/:id": AlertPage } },
  {
    page: "tenants",
    label: "Tenants",
    shortcut: "n",
    routes: { "": TenantsPage, "/:id": TenantPage },
    isForAdmins: true,
    isForOperators: true,
  },
  { page: "audit", label: "Audit", shortcut: "l", routes: { "": AuditPage }, isForAdmins: true },
  {
    page: "jobs",
    label: "Jobs",
    shortcut: "j",
    routes: { "": JobsPage },
    isForAdmins: true,
    isForOperators: true,
  },
  { page: "keys", label: "Keys", shortcut: "k", routes: { "": KeysPage }, isForAdmins: true },
];

/** Those that somebody with this session can use. */
export function pagesFor({ portal, tenant_id: tenantId, scopes }: Session): readonly PageEntry[] {
  if (portal !== null) return PAGES.filter(({ isForPartners }) => isForPartners === true);
  return PAGES.filter(
    ({ isForOperators, isForAdmins }) =>
      (isForOperators !== true || tenantId === null) && (isForAdmins !== true || scopes.includes("admin")),
  );
}
