import { lazy, type ComponentType } from "react";
import type { DashboardPage } from "../../../src/http/dashboard/pages.ts";

/** Everything that can be opened, in the order of the navigation. A new page is a line here. */
export interface PageEntry {
  page: DashboardPage;
  label: string;
  /** Below `/page`, as wouter writes them. */
  routes: Readonly<Record<string, ComponentType>>;
  /** With `g` before it. */
  shortcut: string;
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
];

/** Those that somebody with this session can use. */
export function pagesFor(session: { portal: object | null; tenant_id: string | null }): readonly PageEntry[] {
  if (session.portal !== null) return PAGES.filter(({ isForPartners }) => isForPartners === true);
  return PAGES.filter(({ isForOperators }) => isForOperators !== true || session.tenant_id === null);
}
