import type { Page } from "playwright-core";
import { DIALOGS, EMPTY_PAGES, listPages, VIEWS } from "./pictures.ts";

/** What is done before the pictures of a name are taken. */
export interface Scene {
  name: string;
  path: string;
  /** A gateway with a day of data, one that has just been started, or one that asks who is there. */
  of: "lively" | "fresh" | "signed out";
  /** One of those that are shown in every look. */
  isPage: boolean;
  /** Of a dialog only what is seen at once, since it lies above the page. */
  isWhole: boolean;
  act?: (page: Page) => Promise<void>;
  /** It shows what comes in. */
  isLive?: boolean;
}

/** Longer than between two looks of the page at the counters. */
export const LIVE_MS = 2600;
const LIVE_PAGES: ReadonlySet<string> = new Set(["overview"]);

type Dialog = (typeof DIALOGS)[number];

const press = (name: string | RegExp) => (page: Page) =>
  page.getByRole("button", { name, exact: true }).first().click();

const ACTS: Readonly<Record<Dialog, (page: Page) => Promise<void>>> = {
  "events-one.replay": press("Replay"),
  "events-one.edit": press("Edit and replay"),
  "dead-letters.replay": press(/^Replay /),
  "subscriptions-one.recover": press("Recover"),
  "subscriptions-one.rotate": press("Rotate"),
  "targets-one.force": press("Force NORMAL"),
  "keys.create": press(/^(?:Create|New)/),
  shortcuts: (page) => page.keyboard.press("?"),
  menu: async (page) => {
    await page.setViewportSize({ width: 390, height: 844 });
    await press("Menu")(page);
  },
};

/** Where a side of a page is seen, beside the example that it is about, and what is done there. */
const VIEWED: Readonly<Record<(typeof VIEWS)[number], { at: string; act?: (page: Page) => Promise<void> }>> = {
  portal: { at: "" },
  "dead-letters.narrowed": { at: "/dead-letters?reason=refused&subscription_id=" },
  "sources-one.smartsheet": { at: "/sources/" },
  "sources-one.queue": { at: "/sources/" },
  "validation-one.edit": { at: "/validation/", act: openEditor },
  "validation-one.try": {
    at: "/validation/",
    async act(page) {
      await press("Try")(page);
      await page.locator(".cm-content").fill('{\n  "order_id": "2048",\n  "total": -12.5,\n  "lines": []\n}');
      await press("Check")(page);
      await page.getByText("invalid", { exact: true }).waitFor();
    },
  },
  "alerts.past": { at: "/alerts?show=cleared" },
  "alerts.rules": { at: "/alerts?show=rules" },
};

async function openEditor(page: Page): Promise<void> {
  await press("Edit")(page);
  await page.locator(".cm-content").first().waitFor();
}

/** What a page shows only when it is asked for. */
const OPENED: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  "events-one": async (page) => {
    await page.locator(".delivery > summary", { hasText: "Billing" }).click();
    await page.locator(".attempt").first().waitFor();
  },
};

/** `shown` names the example that the page about one thing shows. */
export async function listScenes(shown: Readonly<Record<string, string>>): Promise<readonly Scene[]> {
  const pages = await listPages();
  const pathOf = new Map(pages.map(({ name, page, route }) => [name, `/${page}${fill(route, page, shown)}`]));
  return [
    ...pages.map(({ name }): Scene => {
      const [path = "", act] = [pathOf.get(name), OPENED[name]];
      return {
        name,
        path,
        of: "lively",
        isPage: true,
        isWhole: true,
        isLive: LIVE_PAGES.has(name),
        ...(act !== undefined && { act }),
      };
    }),
    ...DIALOGS.map((name): Scene => {
      const path = pathOf.get(name.split(".")[0] ?? "") ?? "/overview";
      return { name, path, of: "lively", isPage: false, isWhole: false, act: ACTS[name] };
    }),
    ...VIEWS.map((name): Scene => {
      const { at, act } = VIEWED[name];
      const path = at + (shown[name] ?? "");
      return { name, path, of: "lively", isPage: false, isWhole: true, ...(act !== undefined && { act }) };
    }),
    ...EMPTY_PAGES.map((page): Scene => ({
      name: `${page}.empty`,
      path: `/${page}`,
      of: "fresh",
      isPage: false,
      isWhole: true,
    })),
    { name: "sign-in", path: "/overview", of: "signed out", isPage: false, isWhole: true },
  ];
}

function fill(route: string, page: string, shown: Readonly<Record<string, string>>): string {
  return route.replace(/:\w+/, () => {
    const id = shown[page];
    if (id === undefined) {
      throw new Error(
        `/${page}${route} needs an example: add one to "shown" in scripts/screenshots/example-gateway.ts.`,
      );
    }
    return encodeURIComponent(id);
  });
}
