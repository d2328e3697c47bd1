import { chromium, type Browser } from "playwright-core";
import { afterAll, afterEach, beforeEach } from "vitest";
import { openPage, visitWithKey, type OpenPage, type PageOptions } from "./browser.ts";
import { useChromium } from "./services/shared.ts";
import { ADMIN_KEY } from "./test-gateway.ts";

export interface Visits {
  /** A page of a visitor of its own, with nothing opened yet. */
  open(url: string, options?: PageOptions): Promise<OpenPage>;
  /** Signed in, at that path. */
  visit(url: string, path: string, key?: string, options?: PageOptions): Promise<OpenPage>;
}

/** In the browser of the run; tests are skipped without one. What a test opens is closed with it: open pages go on working. */
export function openVisits(): Visits {
  let browser: Browser | undefined;
  const opened: OpenPage[] = [];
  beforeEach(async (context) => {
    browser ??= await chromium.connect(await useChromium(context));
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map(({ context }) => context.close()));
  });
  afterAll(async () => {
    await browser?.close();
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
      await visitWithKey(one.page, path, key);
      return one;
    },
  };
}
