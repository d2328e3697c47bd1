import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { openVisits } from "../support/visits.ts";

let gateway: TestGateway;
const visits = openVisits();

beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(async () => {
  await gateway.close();
});

const PAGES = ["subscriptions", "targets", "sources", "bulk", "event-types", "validation", "alerts", "dead-letters"];

/** How many pixels of a command cannot be seen. */
function hiddenPixels(page: Page): Promise<number> {
  return page.locator(".command pre").evaluate((pre) => {
    const { scrollWidth, clientWidth } = pre as unknown as { scrollWidth: number; clientWidth: number };
    return scrollWidth - clientWidth;
  });
}

describe("a page without anything to show", () => {
  it.each(PAGES)("says what to do next, with a whole command to copy: %s", async (name) => {
    const { page, context } = await visits.visit(gateway.url, `/${name}`);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const command = page.locator(".command pre");
    for (const width of [1280, 360]) {
      await page.setViewportSize({ width, height: 900 });
      await command.waitFor();
      expect([width, await hiddenPixels(page)]).toEqual([width, 0]);
    }
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const copied = await page.evaluate("navigator.clipboard.readText()");
    expect(copied).toBe(await command.textContent());
    expect(copied).toMatch(/^curl \S+/);
    expect(copied).not.toContain("\n");
    // Without the wrap it would be longer than a phone is wide.
    await command.evaluate((pre) => ((pre as unknown as { style: { whiteSpace: string } }).style.whiteSpace = "pre"));
    expect(await hiddenPixels(page)).toBeGreaterThan(0);
  });

  it("because it is not there offers no second try", async () => {
    const { page } = await visits.visit(gateway.url, "/subscriptions/sub_nothing");
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
  });
});
