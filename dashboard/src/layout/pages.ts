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

const PAGES: readonly PageEntry[] = [
  { page: "overview", label: "Overview", shortcut: "o", routes: { "": OverviewPage } },
  {
    page: "events",
    label: "Events",
    shortcut: "e",
    routes: { "": EventsPage, "/:id": EventPage },
    isForPartners: true,
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
];

/** Those that somebody with this session can use. */
export function pagesFor(session: { portal: object | null; tenant_id: string | null }): readonly PageEntry[] {
  if (session.portal !== null) return PAGES.filter(({ isForPartners }) => isForPartners === true);
  return PAGES.filter(({ isForOperators }) => isForOperators !== true || session.tenant_id === null);
}
