// The system's Chromium, driven over its own protocol.
import axe from "axe-core";
import { existsSync } from "node:fs";
import { chromium, type Browser, type BrowserContext, type Locator, type Page } from "playwright-core";
import { ensureDashboard } from "../../scripts/build-dashboard.mjs";
import { installPackage } from "./debian.ts";

const PROGRAM = "/usr/bin/chromium";
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

/** With the dashboard built. Undefined where Chromium is neither installed nor can be. */
export async function openBrowser(): Promise<Browser | undefined> {
  const program = process.env["CHROMIUM"] ?? PROGRAM;
  if (!existsSync(program) && !(installPackage("chromium") && existsSync(program))) return undefined;
  await ensureDashboard();
  return chromium.launch({ executablePath: program, args: FLAGS });
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

/** What keeps people from using a page: barriers, and whatever sticks out of a screen of 360 px. */
export async function findFaults(page: Page): Promise<string[]> {
  const barriers = await findBarriers(page);
  const before = page.viewportSize();
  await page.setViewportSize({ width: 360, height: 740 });
  const width = Number(await page.evaluate("document.documentElement.scrollWidth"));
  if (before !== null) await page.setViewportSize(before);
  return width > 360 ? [...barriers, `it is ${width} px wide at 360 px`] : barriers;
}

export interface PageOptions {
  theme?: "light" | "dark";
  width?: number;
}

/** What is wrong for people who do not see, hear or click as others do: WCAG 2.2 A and AA. */
export async function findBarriers(page: Page): Promise<string[]> {
  // By the protocol, which the page's policy does not concern.
  await page.evaluate(axe.source);
  const violations = await page.evaluate(async () => {
    const inPage = (globalThis as unknown as { axe: { run(options: object): Promise<{ violations: Violation[] }> } })
      .axe;
    const result = await inPage.run({
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    });
    return result.violations;
  });
  return violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 200)}`));
}

interface Violation {
  id: string;
  help: string;
  nodes: { html: string }[];
}
