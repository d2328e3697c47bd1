// The system's Chromium, driven over its own protocol.
import axe from "axe-core";
import { existsSync } from "node:fs";
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserServer,
  type LaunchOptions,
  type Locator,
  type Page,
} from "playwright-core";
import { ensureDashboard } from "../../scripts/build-dashboard.mjs";
import { findTool } from "../../scripts/test-tools.mjs";

/** Only what hangs is cut off, whatever else the machine does. */
const PATIENCE_MS = 120_000;
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--host-resolver-rules=MAP other-machine.test 127.0.0.1",
];

/** A gateway of this machine under a name that is not this machine's. */
export function asOtherMachine(url: string): string {
  return url.replace("127.0.0.1", "other-machine.test");
}

/** A browser of this process alone. Undefined where Chromium is not installed. */
export async function openBrowser(): Promise<Browser | undefined> {
  const options = await prepareLaunch();
  return options && chromium.launch(options);
}

/** One for all processes of a run, which connect to its address. Undefined as above. */
export async function openBrowserServer(): Promise<BrowserServer | undefined> {
  const options = await prepareLaunch();
  // Whoever runs the tests ends it with them.
  return (
    options && chromium.launchServer({ ...options, handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false })
  );
}

/** With the dashboard built, which is what it is to show. */
async function prepareLaunch(): Promise<LaunchOptions | undefined> {
  const executablePath = findTool("Chromium");
  if (executablePath === undefined || !existsSync(executablePath)) return undefined;
  await ensureDashboard();
  return { executablePath, args: FLAGS };
}

export interface OpenPage {
  page: Page;
  context: BrowserContext;
  /** What the page complained of: errors of scripts, and of its policy. */
  complaints: string[];
}

export async function openPage(browser: Browser, baseURL: string, options: PageOptions = {}): Promise<OpenPage> {
  const context = await browser.newContext({
    baseURL,
    viewport: { width: options.width ?? 1280, height: 900 },
    colorScheme: options.theme ?? "light",
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    // A session that is not there yet is asked for with 401.
    if (message.type() === "error" && !message.text().includes("401")) complaints.push(message.text());
  });
  return { page, context, complaints };
}

/** Goes to an address with the session of a key. */
export async function visitWithKey(page: Page, path: string, key: string): Promise<void> {
  const answer = await page.request.post("/api/v1/session", { data: { key } });
  if (!answer.ok()) throw new Error(`no session: ${answer.status()} ${await answer.text()}`);
  await page.goto(path);
  await page.locator("nav").waitFor({ state: "attached" });
}

/** Goes to an address that needs a session, and signs in there; the page that was asked for is shown then. */
export async function signIn(page: Page, path: string, key: string): Promise<void> {
  await page.goto(path);
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator("nav").waitFor({ state: "attached" });
}

/**
 * Replaces the text of an editor. Emptied by the editor itself first: where Chromium joins coloured lines, it keeps their
 * colours as inline styles, of which the page's policy complains.
 */
export async function replaceText(editor: Locator, text: string): Promise<void> {
  await editor.press("ControlOrMeta+a");
  await editor.press("Delete");
  await editor.fill(text);
}

/** What keeps people from using a page: barriers in light and in dark, and whatever sticks out of a screen of 360 px. */
export async function findFaults(page: Page): Promise<string[]> {
  const barriers = await findBarriers(page);
  const before = page.viewportSize();
  await page.setViewportSize({ width: 360, height: 740 });
  const width = Number(await page.evaluate("document.documentElement.scrollWidth"));
  if (before !== null) await page.setViewportSize(before);
  return width > 360 ? [...barriers, `it is ${width} px wide at 360 px`] : barriers;
}

/** What is cut off or sticks out somewhere at these widths, other than texts that end with "…". */
export async function findCutOff(page: Page, widths: readonly number[]): Promise<string[]> {
  const before = page.viewportSize();
  const found: string[] = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    const here: string[] = await page.evaluate(FIND_CUT_OFF);
    found.push(...here.map((text) => `at ${width} px: ${text}`));
  }
  if (before !== null) await page.setViewportSize(before);
  return found;
}

const FIND_CUT_OFF = `[document.documentElement, ...document.querySelectorAll("main *:not(svg *)")].flatMap((element) => {
  const { overflowX, textOverflow, clipPath } = getComputedStyle(element);
  const isMeant = overflowX === "visible" || textOverflow === "ellipsis" || clipPath !== "none";
  const lacking = element.scrollWidth - element.clientWidth;
  if (lacking <= 1 || (isMeant && element !== document.documentElement)) return [];
  return [lacking + " px of " + element.tagName.toLowerCase() + "." + element.className];
})`;

export interface PageOptions {
  theme?: "light" | "dark";
  width?: number;
}

const ALL_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
/** The dark theme has colours of its own, and nothing else. */
const RULES_OF_COLOURS = { type: "rule", values: ["color-contrast", "link-in-text-block"] };

/** What is wrong for people who do not see, hear or click as others do: WCAG 2.2 A and AA. */
export async function findBarriers(page: Page): Promise<string[]> {
  // By the protocol, which the page's policy does not concern.
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(axe.source);
  const inLight = await runAxe(page, ALL_RULES);
  await page.emulateMedia({ colorScheme: "dark" });
  const inDark = await runAxe(page, RULES_OF_COLOURS);
  await page.emulateMedia({ colorScheme: "light" });
  return [...inLight, ...inDark.map((text) => `in dark: ${text}`)];
}

async function runAxe(page: Page, runOnly: object): Promise<string[]> {
  const violations = await page.evaluate(async (rules) => {
    const inPage = (globalThis as unknown as { axe: { run(options: object): Promise<{ violations: Violation[] }> } })
      .axe;
    return (await inPage.run({ runOnly: rules, resultTypes: ["violations"] })).violations;
  }, runOnly);
  return violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 200)}`));
}

interface Violation {
  id: string;
  help: string;
  nodes: { html: string }[];
}
