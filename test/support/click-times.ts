import { fileURLToPath } from "node:url";
import type { Locator, Page } from "playwright-core";

/** Measures in the page itself how long after a click its content could be seen. */
export interface ClickTimes {
  /** Clicks, and resolves with the milliseconds until rows of the page at this path are shown. */
  ofClick(link: Locator, path: string): Promise<number>;
  /** The same for a view whose address somebody follows within the page. */
  ofView(path: string): Promise<number>;
}

/** Only what never comes is given up. */
const PATIENCE_MS = 60_000;
const IN_PAGE = fileURLToPath(new URL("in-page-clock.mjs", import.meta.url));

/** Before the first address is opened. */
export async function createClickTimes(page: Page): Promise<ClickTimes> {
  await page.addInitScript({ path: IN_PAGE });
  const watch = (path: string) => page.evaluate(`watchUntilShown(${JSON.stringify(path)})`);
  async function shownAfter(): Promise<number> {
    const ms = await page.evaluate(
      `Promise.race([shownAfterMs, new Promise((end) => setTimeout(end, ${PATIENCE_MS}))])`,
    );
    if (ms !== undefined) return Number(ms);
    throw new Error(`nothing was shown at ${page.url()}: ${await page.locator("main").innerText()}`);
  }
  return {
    async ofClick(link, path) {
      await watch(path);
      await link.click();
      return shownAfter();
    },
    async ofView(path) {
      await watch(path);
      await page.evaluate(`followLink(${JSON.stringify(path)})`);
      return shownAfter();
    },
  };
}

/** The pages of the menu. */
export async function listLinks(page: Page): Promise<{ label: string; path: string }[]> {
  const links = await page.locator("nav[aria-label=Pages] a").all();
  return Promise.all(
    links.map(async (link) => ({ label: await link.innerText(), path: String(await link.getAttribute("href")) })),
  );
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
