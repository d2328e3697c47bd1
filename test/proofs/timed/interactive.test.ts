import type { BrowserContext } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signIn, type OpenPage } from "../../support/browser.ts";
import { createClickTimes, median } from "../../support/click-times.ts";
import { PROOF_SIZE } from "../../support/proof-size.ts";
import { report } from "../../support/report.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../../support/test-gateway.ts";
import { openVisits } from "../../support/visits.ts";

const LOADS = PROOF_SIZE === "long" ? 15 : 5;
/** From the beginning of the navigation until input is accepted, the median of loads with an empty cache. */
const MAX_INTERACTIVE_MS = 1_000;
const DELAY_MS = 1_000;

let gateway: TestGateway;
const visits = openVisits();

beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(async () => {
  await gateway.close();
});

/** With an empty cache, and the cookies of another context. */
async function openEmpty(like?: BrowserContext): Promise<OpenPage> {
  const opened = await visits.open(gateway.url);
  if (like !== undefined) await opened.context.addCookies(await like.cookies());
  await createClickTimes(opened.page);
  return opened;
}

interface Load {
  interactiveMs: number;
  longTasksMs: number;
  requests: number;
  bytes: number;
}

async function load({ page }: OpenPage, path: string): Promise<Load> {
  await page.goto(path);
  const interactiveMs = Number(await page.evaluate("interactiveAfterMs"));
  const loaded = (await page.evaluate("countLoaded()")) as Omit<Load, "interactiveMs">;
  return { interactiveMs, ...loaded };
}

function judge(what: string, loads: readonly Load[]): void {
  const all = loads.map(({ interactiveMs }) => interactiveMs.toFixed(0)).join(", ");
  const [requests, bytes] = [loads.map((one) => one.requests), loads.map((one) => one.bytes)].map((values) =>
    Math.max(...values),
  ) as [number, number];
  const middle = median(loads.map(({ interactiveMs }) => interactiveMs));
  report(
    `dashboard: ${what} is interactive after ${middle.toFixed(0)} ms (${all}); ${requests} requests, ` +
      `${Math.round(bytes / 1000)} KB, ${median(loads.map(({ longTasksMs }) => longTasksMs)).toFixed(0)} ms of long tasks`,
  );
  expect(middle).toBeLessThan(MAX_INTERACTIVE_MS);
}

describe("a first load of the dashboard", () => {
  it("takes input soon: at the sign-in, and on the overview", async () => {
    const signedOut: Load[] = [];
    for (let n = 0; n < LOADS; n++) {
      const opened = await openEmpty();
      signedOut.push(await load(opened, "/"));
      const field = opened.page.getByLabel("API key");
      await opened.page.keyboard.type("typed at once");
      expect(await field.inputValue()).toBe("typed at once");
    }
    judge("the sign-in", signedOut);

    const first = await openEmpty();
    await signIn(first.page, "/overview", ADMIN_KEY);
    const signedIn: Load[] = [];
    for (let n = 0; n < LOADS; n++) {
      const opened = await openEmpty(first.context);
      signedIn.push(await load(opened, "/overview"));
      await opened.page.keyboard.press("g");
      await opened.page.keyboard.press("k");
      await opened.page.getByRole("heading", { name: "Keys", exact: true }).waitFor();
    }
    judge("the overview", signedIn);
  });

  it("would be seen to be slow if its scripts came late (control)", async () => {
    const opened = await openEmpty();
    await opened.page.route("**/*.js", async (route) => {
      await new Promise((resolve) => setTimeout(resolve, DELAY_MS));
      await route.continue();
    });
    expect((await load(opened, "/")).interactiveMs).toBeGreaterThan(DELAY_MS);
  });
});
