/** Every picture of the dashboard: one of each page, of its dialogs and of its empty states. */
import { fileURLToPath } from "node:url";

export const FOLDER = fileURLToPath(new URL("../../docs/screenshots/", import.meta.url));
const PAGES = new URL("../../dashboard/src/layout/pages.ts", import.meta.url).href;

/** Those that pages of the documentation show, in both themes: only these are in the checkout. */
export const COMMITTED = ["overview", "events-one", "dead-letters", "subscriptions-one", "targets-one", "events"];
export const listCommitted = () =>
  COMMITTED.flatMap((name) => (["light", "dark"] as const).map((look) => fileOf(name, look)));

/** How each is taken. */
export const LOOKS = {
  light: { width: 1280, colorScheme: "light" },
  dark: { width: 1280, colorScheme: "dark" },
  phone: { width: 390, colorScheme: "light" },
  "phone-dark": { width: 390, colorScheme: "dark" },
} as const;
export type Look = keyof typeof LOOKS;

/** What is shown beside the pages. Those that need a click are named here and played in `scenes.ts`. */
export const DIALOGS = [
  "events-one.replay",
  "events-one.edit",
  "dead-letters.replay",
  "subscriptions-one.recover",
  "subscriptions-one.rotate",
  "targets-one.force",
  "keys.create",
  "shortcuts",
  "menu",
] as const;
/** Other sides of a page, at an address of their own, which `scenes.ts` has. */
export const VIEWS = [
  "portal",
  "dead-letters.narrowed",
  "sources-one.smartsheet",
  "sources-one.queue",
  "validation-one.edit",
  "validation-one.try",
  "alerts.past",
  "alerts.rules",
] as const;
export const EMPTY_PAGES = [
  "overview",
  "events",
  "subscriptions",
  "targets",
  "requests",
  "dead-letters",
  "bulk",
  "sources",
  "event-types",
  "validation",
  "alerts",
] as const;
/** A menu that only a small screen has. */
const PHONE_ONLY: ReadonlySet<string> = new Set(["menu"]);
/** Beside the pages two of each are enough: both widths, both themes, and half of the bytes. */
const OF_OTHERS: readonly Look[] = ["light", "phone-dark"];

export interface PagePicture {
  name: string;
  page: string;
  /** As wouter writes it: `/:id/edit`. */
  route: string;
}

/** The dashboard's own list of pages, as an operator sees it. */
export async function listPages(): Promise<readonly PagePicture[]> {
  // By an address that the compiler does not follow: the page's sources are checked with the page's own settings.
  const { pagesFor } = (await import(PAGES)) as {
    pagesFor(session: object): readonly { page: string; routes: Readonly<Record<string, unknown>> }[];
  };
  return pagesFor({ portal: null, tenant_id: null, scopes: ["admin"] }).flatMap(({ page, routes }) =>
    Object.keys(routes).map((route) => ({ name: nameOf(page, route), page, route })),
  );
}

/** `events`, `events-one`, `subscriptions-new`, `subscriptions-edit`. */
function nameOf(page: string, route: string): string {
  const last = route.split("/").at(-1) ?? "";
  return last === "" ? page : `${page}-${last.startsWith(":") ? "one" : last.replace(/^-/, "")}`;
}

export async function listFiles(): Promise<readonly string[]> {
  const pages = (await listPages()).flatMap(({ name }) => looksOf(name, true).map((look) => fileOf(name, look)));
  const others = [...DIALOGS, ...VIEWS, ...EMPTY_PAGES.map((page) => `${page}.empty`), "sign-in"].flatMap((name) =>
    looksOf(name, false).map((look) => fileOf(name, look)),
  );
  return [...pages, ...others].toSorted();
}

export function looksOf(name: string, isPage: boolean): readonly Look[] {
  if (PHONE_ONLY.has(name)) return ["phone", "phone-dark"];
  return isPage ? (Object.keys(LOOKS) as Look[]) : OF_OTHERS;
}

export const fileOf = (name: string, look: Look) => `${name}.${look}.png`;
