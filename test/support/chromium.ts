import { existsSync } from "node:fs";
import { chromium } from "playwright-core";
import { installPackage } from "./debian.ts";

/** A browser without a window, with one page. */
export interface Chromium {
  open(url: string, view: { width: number; height: number }): Promise<void>;
  /** The value of an expression in the page, which may be a promise. */
  evaluate(expression: string): Promise<unknown>;
  /** What the browser complained about: errors, and what the page's policy forbids. */
  readonly complaints: readonly string[];
  close(): Promise<void>;
}

const PROGRAM = "/usr/bin/chromium";
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"];

/** Undefined where there is none, and none can be installed. */
export async function openChromium(): Promise<Chromium | undefined> {
  const program = process.env["CHROMIUM"] ?? PROGRAM;
  if (!existsSync(program) && !(installPackage("chromium") && existsSync(program))) return undefined;
  const browser = await chromium.launch({ executablePath: program, args: FLAGS });
  const page = await browser.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  return {
    complaints,
    async open(url, view) {
      await page.setViewportSize(view);
      await page.goto(url);
    },
    evaluate: (expression) => page.evaluate(expression),
    close: () => browser.close(),
  };
}
