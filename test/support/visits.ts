import type { Browser } from "playwright-core";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { openBrowser, openPage, signIn, type OpenPage, type PageOptions } from "./browser.ts";
import { skipWithoutService } from "./skip.ts";
import { ADMIN_KEY } from "./test-gateway.ts";

export interface Visits {
  /** A page of a visitor of its own, with nothing opened yet. */
  open(url: string, options?: PageOptions): Promise<OpenPage>;
  /** Signed in, at that path. */
  visit(url: string, path: string, key?: string, options?: PageOptions): Promise<OpenPage>;
}

/** One browser for all tests of a file, which are skipped without one; what they open is closed at the end. */
export function openVisits(): Visits {
  let browser: Browser | undefined;
  const opened: OpenPage[] = [];
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(async () => {
    await Promise.all(opened.map(({ context }) => context.close()));
    await browser?.close();
  });
  beforeEach((context) => {
    if (browser === undefined) skipWithoutService(context, "Chromium");
  });

  async function open(url: string, options: PageOptions = {}): Promise<OpenPage> {
    const page = await openPage(browser as Browser, url, options);
    opened.push(page);
    return page;
  }

  return {
    open,
    async visit(url, path, key = ADMIN_KEY, options = {}) {
      const one = await open(url, options);
      await signIn(one.page, path, key);
      return one;
    },
  };
}
