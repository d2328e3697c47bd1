import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { withLock } from "../../../scripts/lock.mjs";
import { until } from "../../support/api-client.ts";
import { copyCheckout, lendInstalled } from "../../support/checkout-copy.ts";
import { NO_SHEDDING } from "../../support/run-cli.ts";
import { startCommand, type Running } from "../../support/run-command.ts";
import { openVisits } from "../../support/visits.ts";

const BUILDING = "Its dashboard is being built";
const FAILED = "Its dashboard could not be built";

interface Started extends Running {
  url: string;
  stop(): Promise<void>;
}

let folder: string;
let checkout: string;
const visits = openVisits();
const running = new Set<Started>();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "posthorn-start-"));
  checkout = copyCheckout(folder);
  lendInstalled(checkout);
});
afterAll(async () => {
  for (const started of running) await started.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** As `npm start` does it, in the copy; resolves when the gateway listens. */
async function start(): Promise<Started> {
  const own = Object.keys(process.env).filter((name) => name.startsWith("POSTHORN_"));
  const env = { ...Object.fromEntries(own.map((name) => [name, undefined])), ...NO_SHEDDING };
  const command = startCommand(process.execPath, ["scripts/start.mjs", "--port", "0"], checkout, env);
  await command.printed("gateway is listening");
  const started: Started = {
    ...command,
    url: /"url":"([^"]+)"/.exec(command.output().stdout)?.[1] ?? "",
    async stop() {
      running.delete(started);
      command.child.kill("SIGTERM");
      expect((await command.finished).exitCode).toBe(0);
    },
  };
  running.add(started);
  return started;
}

/** Keeps the dashboard from being built until the returned function is called. */
async function holdBuild(): Promise<() => void> {
  let letGo = (): void => undefined;
  await new Promise<void>((isHeld) => {
    const work = () =>
      new Promise<void>((resolve) => {
        letGo = resolve;
        isHeld();
      });
    void withLock(join(checkout, "dist/.dashboard-lock"), work, () => undefined);
  });
  return letGo;
}

function edit(path: string, from: string, to: string): void {
  const file = join(checkout, path);
  const text = readFileSync(file, "utf8");
  expect(text).toContain(from);
  writeFileSync(file, text.replace(from, to));
}

async function newPage(url: string): Promise<Page> {
  const opened = await visits.open(url);
  return opened.page;
}

async function takesWebhooks(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/webhook/any`, { method: "POST", body: "{}" });
  await answer.text();
  return answer.status === 202;
}

const textAt = async (url: string) => (await fetch(url, { headers: { accept: "text/html" } })).text();

describe("npm run example -- NAME --keep", () => {
  it("builds the page whose address it prints", async () => {
    for (const name of ["dashboard", ".dashboard-stamp"]) {
      rmSync(join(checkout, "dist", name), { recursive: true, force: true });
    }
    const example = startCommand(process.execPath, ["scripts/example.mjs", "n8n-proxy", "--keep"], checkout, {});
    onTestFinished(() => void example.child.kill("SIGINT"));
    await example.printed("Try in another terminal");
    const url = /dashboard +(http:\S+)/.exec(example.output().stdout)?.[1] ?? "";
    await until(async () => (await textAt(url)).includes('<div id="app">'));
    example.child.kill("SIGINT");
    expect((await example.finished).exitCode).toBe(0);
  });
});

describe("npm start", () => {
  it("starts the gateway before the page is built, says so, and shows the page when it is there", async () => {
    edit("dashboard/src/pages/overview/overview-page.tsx", 'title="Overview"', 'title="Overview, changed"');
    rmSync(join(checkout, "dist/dashboard"), { recursive: true });
    const letGo = await holdBuild();
    const gateway = await start();
    await gateway.printed("waiting for another process that builds the dashboard", "stderr");
    expect(await takesWebhooks(gateway.url)).toBe(true);
    expect(await textAt(gateway.url)).toContain(BUILDING);

    // Whoever follows the link of the first start is not too early.
    await gateway.printed("a link that signs in once is in", "stderr");
    const page = await newPage(gateway.url);
    await page.goto(readFileSync(join(checkout, "data/sign-in-link"), "utf8").trim());
    await page.getByText(BUILDING).waitFor();
    letGo();
    await page.getByRole("heading", { name: "Overview, changed" }).waitFor();
    expect(await textAt(gateway.url)).not.toContain(BUILDING);
    await gateway.stop();
  });

  it("builds nothing when nothing has changed", async () => {
    const gateway = await start();
    expect(await textAt(`${gateway.url}/events`)).toContain('<div id="app">');
    await gateway.stop();
    expect(gateway.output().stderr).not.toContain("dashboard");
  });

  it("goes on without the page when it cannot be built, and says so", async () => {
    edit("dashboard/src/pages/overview/overview-page.tsx", "export function", "export broken function");
    const gateway = await start();
    await gateway.printed("the dashboard was not built", "stderr");
    // The page of before is better than none.
    expect(await textAt(gateway.url)).toContain('<div id="app">');
    await gateway.stop();

    rmSync(join(checkout, "dist/dashboard"), { recursive: true });
    const without = await start();
    await without.printed("the dashboard was not built", "stderr");
    expect(await takesWebhooks(without.url)).toBe(true);
    for (const path of ["", "/events", "/sign-in"]) expect(await textAt(without.url + path)).toContain(FAILED);
    const page = await newPage(without.url);
    await page.goto("/events");
    await page.getByText(FAILED).waitFor();
    await without.stop();
  });
});
