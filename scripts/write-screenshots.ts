/**
 * `npm run screenshots`: the pictures that the documentation shows, in docs/screenshots, of a real gateway with example
 * data. `npm run screenshots -- --all FOLDER`: every page, dialog and empty state, in both themes and widths; names behind
 * it choose those that begin so.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { until } from "../test/support/api-client.ts";
import { openBrowser, signIn } from "../test/support/browser.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../test/support/test-gateway.ts";
import { openExampleGateway } from "./screenshots/example-gateway.ts";
import { COMMITTED, fileOf, FOLDER, LOOKS, looksOf, type Look } from "./screenshots/pictures.ts";
import { listScenes, LIVE_MS, type Scene } from "./screenshots/scenes.ts";
import { shrinkPng } from "./screenshots/small-png.ts";

/** The longest that is still looked at; further down there is more of the same. */
const MAX_HEIGHT = { 1280: 1200, 390: 1500 } as const;
const VIEW_HEIGHT = { 1280: 860, 390: 844 } as const;

const [flag, folder = FOLDER, ...wanted] = process.argv.slice(2);
const isAll = flag === "--all";
if (flag !== undefined && (!isAll || folder === FOLDER))
  throw new Error("usage: npm run screenshots [-- --all FOLDER [NAME …]]");
const beganAt = performance.now();
const browser = await openBrowser();
if (browser === undefined) throw new Error("Chromium was not found. Install it, or set CHROMIUM to its path.");
const example = await openExampleGateway();
const fresh = await startTestGateway({ startAt: example.gateway.now(), env: { PORT: await findUsualPort() } });
fresh.holdClock();
process.stderr.write(`the example data took ${secondsSince(beganAt)} s\n`);
try {
  mkdirSync(folder, { recursive: true });
  const scenes = (await listScenes(example.shown)).filter(({ name }) =>
    isAll ? wanted.length === 0 || wanted.some((begin) => name.startsWith(begin)) : COMMITTED.includes(name),
  );
  const bytes = await takeAll(browser, scenes);
  process.stdout.write(`${scenes.length} scenes, ${bytes} bytes, in ${secondsSince(beganAt)} s\n`);
} finally {
  await browser.close();
  await Promise.all([example.close(), fresh.close()]);
}

async function takeAll(chromium: Browser, scenes: readonly Scene[]): Promise<number> {
  let bytes = 0;
  for (const of of ["lively", "fresh", "signed out"] as const) {
    const gateway = of === "fresh" ? fresh : example.gateway;
    const context = await openContext(chromium, gateway);
    const page = await context.newPage();
    page.setDefaultTimeout(10_000);
    await page.clock.setSystemTime(gateway.now());
    if (of !== "signed out") await signIn(page, "/overview", ADMIN_KEY);
    for (const scene of scenes.filter((one) => one.of === of)) {
      bytes += await take(page, scene).catch((error: unknown) => {
        process.exitCode = 1;
        process.stderr.write(`${scene.name} (${scene.path}) could not be taken: ${String(error)}\n`);
        return 0;
      });
    }
    await context.close();
  }
  return bytes;
}

function openContext(chromium: Browser, { url }: TestGateway): Promise<BrowserContext> {
  return chromium.newContext({ baseURL: url, locale: "en-GB", timezoneId: "Europe/Berlin", reducedMotion: "reduce" });
}

async function take(page: Page, scene: Scene): Promise<number> {
  const calm = scene.isLive === true ? example.keepComing() : undefined;
  try {
    return await takeLooks(page, scene);
  } finally {
    await calm?.();
  }
}

/** Loaded once for all looks: a theme and a width that change under an open page must look right too. */
async function takeLooks(page: Page, { name, path, act, isPage, isWhole, isLive }: Scene): Promise<number> {
  await page.setViewportSize({ width: 1280, height: VIEW_HEIGHT[1280] });
  await page.emulateMedia({ colorScheme: "light" });
  await page.goto(path);
  await settle(page);
  await act?.(page);
  await settle(page);
  if (isLive === true) await page.waitForTimeout(LIVE_MS);
  let bytes = 0;
  const looks: readonly Look[] = isAll ? looksOf(name, isPage) : ["light", "dark"];
  for (const look of looks) {
    const { width, colorScheme } = LOOKS[look];
    await page.setViewportSize({ width, height: VIEW_HEIGHT[width] });
    await page.emulateMedia({ colorScheme });
    await page.waitForTimeout(100);
    const small = shrinkPng(await shoot(page, width, isWhole));
    writeFileSync(join(folder, fileOf(name, look)), small);
    bytes += small.length;
  }
  return bytes;
}

/** The whole page, up to a limit. */
async function shoot(page: Page, width: keyof typeof MAX_HEIGHT, isWhole: boolean): Promise<Buffer> {
  const options = { animations: "disabled", caret: "hide" } as const;
  if (!isWhole) return page.screenshot(options);
  const whole = Number(await page.evaluate("document.documentElement.scrollHeight"));
  const height = Math.min(Math.max(whole, VIEW_HEIGHT[width]), MAX_HEIGHT[width]);
  await page.setViewportSize({ width, height });
  await page.waitForTimeout(60);
  return page.screenshot(options);
}

/** Until everything that the page asked for is shown. */
async function settle(page: Page): Promise<void> {
  await page.locator("h1").first().waitFor();
  await until(async () => (await page.locator(".skeleton, [aria-busy=true]").count()) === 0, 10_000, "the whole page");
  await page.waitForTimeout(250);
}

/** The one of the documentation, which empty pages name in their commands; another where somebody listens there. */
async function findUsualPort(): Promise<number> {
  const isTaken = await fetch("http://127.0.0.1:8080/").then(
    () => true,
    () => false,
  );
  return isTaken ? 0 : 8080;
}

function secondsSince(at: number): string {
  return ((performance.now() - at) / 1000).toFixed(1);
}
