import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { asOtherMachine, replaceText, type OpenPage } from "../../support/browser.ts";
import { openHostPage, type HostPage } from "../../support/host-page.ts";
import { officialsAccept } from "../../support/official-verifiers.ts";
import { startCommand, type Running } from "../../support/run-command.ts";
import { NO_SHEDDING } from "../../support/run-cli.ts";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";
import { openSinkServer, type SinkServer } from "../../support/sink-server.ts";
import { openVisits } from "../../support/visits.ts";

/** More than a replay opens in a lane before the first are delivered. */
const MANY = 80;
const STRICT = '{\n  "type": "object",\n  "properties": { "id": { "type": "integer" } }\n}';

let sink: SinkServer;
let partner: HostPage;
let stranger: HostPage;
let folder: string;
let gateway: Running;
let url = "";
const visits = openVisits();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "posthorn-story-"));
  [sink, partner, stranger] = await Promise.all([
    openSinkServer(),
    openHostPage("127.0.0.1"),
    openHostPage("127.0.0.1"),
  ]);
  writeFileSync(join(folder, "posthorn.yaml"), `portal: { name: Acme hooks, frame_origins: ["${partner.origin}"] }\n`);
  // As `npm start -- --dev` does it, in an empty folder and on a free port.
  const script = join(PROJECT_ROOT, "scripts/start.mjs");
  const own = Object.keys(process.env).filter((name) => name.startsWith("POSTHORN_"));
  const env = { ...Object.fromEntries(own.map((name) => [name, undefined])), ...NO_SHEDDING };
  gateway = startCommand(process.execPath, [script, "--dev", "--port", "0"], folder, env);
  await gateway.printed("gateway is listening");
  url = /"url":"([^"]+)"/.exec(gateway.output().stdout)?.[1] ?? "";
});
afterAll(async () => {
  gateway.child.kill("SIGTERM");
  await gateway.finished;
  await Promise.all([sink.close(), partner.close(), stranger.close()]);
  rmSync(folder, { recursive: true, force: true });
});

async function newPage(): Promise<OpenPage> {
  const opened = await visits.open(url);
  return opened;
}

/** As a sender does, who knows nothing but the address. */
async function send(address: string, payload: object): Promise<number> {
  const response = await fetch(address, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(payload),
  });
  await response.text();
  return response.status;
}

const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name, exact: true });
const goTo = (page: Page, name: string) =>
  page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
const heading = (page: Page, name: string) => page.getByRole("heading", { name, exact: true });

it("tells the whole story, from the first start to a partner's frame", async () => {
  const { page, complaints } = await newPage();
  await signInOnce(page);
  const address = await createSource(page, "shop");
  await createSubscription(page, { name: "ERP", events: "webhook.shop" });
  await seeItLive(page, address);
  await seeItDie(page, address);
  await replayAll(page);
  await rotateSecret(page, address);
  await rollBackValidation(page, address);
  await showPartner(page);
  // The browser names each answer that was no success: no document yet.
  expect(complaints.filter((text) => !/status of 404/.test(text))).toEqual([]);
});

/** With the link of the first start. */
async function signInOnce(page: Page): Promise<void> {
  await gateway.printed("a link that signs in once is in", "stderr");
  const link = readFileSync(join(folder, "data/sign-in-link"), "utf8").trim();
  expect(new URL(link).origin).toBe(url);
  // Where everybody could read the cookie it is refused, and not used up.
  const { page: afar } = await newPage();
  await afar.goto(asOtherMachine(link));
  await afar.getByRole("alert").getByText("works only on the gateway's own machine").waitFor();
  await page.goto(link);
  await heading(page, "Overview").waitFor();
  expect(page.url()).not.toContain("token");

  const { page: second } = await newPage();
  await second.goto(link);
  await second.getByRole("alert").getByText("This link was already used or has expired.").waitFor();
  expect(await second.getByRole("navigation").count()).toBe(0);
}

async function createSource(page: Page, name: string): Promise<string> {
  await goTo(page, "Sources");
  await page.getByRole("link", { name: "Create source" }).first().click();
  await page.getByLabel(/^Name/).fill(name);
  await button(page, "Create source").click();
  await heading(page, name).waitFor();
  const address = (await page.getByRole("group", { name: "Command" }).first().textContent()) ?? "";
  expect(address).toBe(`${url}/webhook/${name}`);
  return address;
}

async function createSubscription(page: Page, given: { name: string; events: string; tenant?: string }): Promise<void> {
  await goTo(page, "Subscriptions");
  await page.getByRole("link", { name: "Create subscription" }).first().click();
  await page.getByLabel("Name (required)").fill(given.name);
  if (given.tenant !== undefined) await page.getByLabel("Tenant id").fill(given.tenant);
  await page.getByLabel("URL (required)").fill(sink.url);
  await page.getByLabel("Events (required)").fill(given.events);
  await page.getByText("Retries, rate and order").click();
  await page.getByLabel("Retry policy").selectOption("custom");
  await page.getByLabel(/^Delays/).fill("1");
  // Longer than the target is held up below.
  await page.getByLabel("Timeout").fill("300");
  await page.getByRole("heading", { name: "More settings" }).click();
  await page.getByLabel("Suspend after dead").fill(String(2 * MANY));
  await button(page, "Create subscription").click();
  await heading(page, given.name).waitFor();
}

async function seeItLive(page: Page, address: string): Promise<void> {
  await goTo(page, "Events");
  await page.getByText("Live", { exact: true }).waitFor();
  await page.evaluate(() => Object.assign(globalThis, { isSamePage: true }));
  expect(await send(address, { n: 0 })).toBe(202);
  const row = page.getByRole("link", { name: /webhook\.shop/ });
  await row.getByText("completed").waitFor();
  expect(await row.count()).toBe(1);
  await row.click();
  await page.getByText("#1 200").waitFor();
  expect(await page.evaluate(() => "isSamePage" in globalThis)).toBe(true);
  expect((await sink.received(1)).map(({ body }) => body.toString())).toEqual(['{"n":0}']);
}

/** One that is retried in vain, and many that the target rejects. */
async function seeItDie(page: Page, address: string): Promise<void> {
  await goTo(page, "Events");
  await page.getByText("Live", { exact: true }).waitFor();
  sink.answerWith({ status: 500, body: "out of order" });
  await send(address, { n: 1 });
  const row = page.getByRole("link", { name: /webhook\.shop/ }).filter({ hasText: "failed" });
  await row.click();
  await page.getByText("#1 500").waitFor();
  await page.getByText("#2 500").click();
  await page.getByText("out of order").last().waitFor();
  await page.getByText("Dead letter: retries exhausted").waitFor();

  sink.answerWith({ status: 400 });
  const before = sink.requests.length;
  await Promise.all(Array.from({ length: MANY - 1 }, (_, n) => send(address, { n: n + 2 })));
  await sink.received(before + MANY - 1);
  await goTo(page, "Dead letters");
  await page.getByText(`${MANY} in 2 groups`).waitFor();
}

/** The target works again, and is slow at first, so that the job can be paused on its way. */
async function replayAll(page: Page): Promise<void> {
  let openUp = (): void => undefined;
  const isOpen = new Promise<void>((resolve) => (openUp = resolve));
  const before = sink.requests.length;
  sink.answerWith({ status: 200, after: isOpen });
  await button(page, "Replay all").click();
  await button(page, `Replay ${MANY} dead letters`).click();
  await heading(page, "Replay of dead letters").waitFor();
  const status = page.getByRole("status");
  await status.getByText("running").waitFor();
  await page.getByText(new RegExp(`^[1-9]\\d* of ${MANY} opened again`)).waitFor();
  await button(page, "Cancel job").waitFor();
  await button(page, "Pause").click();
  await status.getByText("paused").waitFor();
  expect(await page.getByText(`${MANY} of ${MANY}`).count()).toBe(0);
  openUp();
  await button(page, "Resume").click();
  await status.getByText("completed").waitFor();
  await page.getByText(`${MANY} of ${MANY}`).waitFor();
  expect(await button(page, "Cancel job").count()).toBe(0);

  await goTo(page, "Dead letters");
  await page.getByText("There are no dead letters").waitFor();
  await sink.received(before + MANY);
  const numbers = sink.requests.slice(before).map(({ body }) => (JSON.parse(body.toString()) as { n: number }).n);
  expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: MANY }, (_, n) => n + 1));
}

async function rotateSecret(page: Page, address: string): Promise<void> {
  sink.answerWith({ status: 200 });
  await goTo(page, "Subscriptions");
  await page.getByRole("link", { name: "ERP" }).click();
  await button(page, "Rotate").click();
  await page.getByRole("dialog").getByRole("button", { name: "Rotate" }).click();
  await page.getByText("Both secrets sign until").waitFor();
  const secretOf = async (state: string) =>
    (await page.getByRole("listitem").filter({ hasText: state }).locator("code").first().textContent()) ?? "";
  const [current, next] = [await secretOf("current"), await secretOf("next")];
  expect(next).not.toBe(current);
  const before = sink.requests.length;
  await send(address, { n: 1000 });
  const received = (await sink.received(before + 1))[before];
  if (received === undefined) throw new Error("nothing was received");
  expect([current, next].map((secret) => officialsAccept(secret, received))).toEqual([true, true]);
  const foreign = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;
  expect(officialsAccept(foreign, received)).toBe(false);
}

async function rollBackValidation(page: Page, address: string): Promise<void> {
  const write = async (document: string) => {
    await replaceText(page.getByRole("textbox", { name: "Document" }), document);
    await button(page, "Save").click();
    await heading(page, "In force").waitFor();
  };
  await goTo(page, "Validations");
  await button(page, "Create validation").first().click();
  await page.getByLabel("Endpoint").fill("shop");
  await button(page, "Continue").click();
  await write(STRICT);
  expect(await send(address, { id: "x" })).toBe(422);
  await button(page, "Edit").first().click();
  await write('{\n  "type": "object"\n}');
  expect(await send(address, { id: "x" })).toBe(202);
  await button(page, "Versions").click();
  await button(page, "Roll back to version 1").click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Roll back" }).click();
  await page.getByText("Version 1 is in force again, as version 3.").waitFor();
  expect(await send(address, { id: "x" })).toBe(422);
}

/** In a frame of the site that the configuration names, and of no other. */
async function showPartner(page: Page): Promise<void> {
  await goTo(page, "Tenants");
  await button(page, "Create tenant").first().click();
  await page.getByRole("textbox", { name: "Id" }).fill("acme");
  await page.getByRole("textbox", { name: "Name" }).fill("Acme");
  await button(page, "Create").click();
  await heading(page, "Acme").waitFor();
  await createSubscription(page, { name: "Acme shop floor", events: "order.*", tenant: "acme" });
  await goTo(page, "Tenants");
  await page.getByRole("link", { name: "Acme" }).click();
  await button(page, "Portal link").click();
  await button(page, "Create link").click();
  const link = (await page.getByRole("group", { name: "Portal link for Acme" }).textContent()) ?? "";

  const { page: host } = await newPage();
  await host.goto(partner.showing(link));
  const frame = host.frameLocator("iframe");
  await frame.getByRole("link", { name: "Subscriptions" }).click();
  await frame.getByText("Acme shop floor").first().waitFor();
  expect(await frame.getByText("ERP").count()).toBe(0);
  expect(await frame.getByRole("link", { name: /Sources|Keys|Tenants|Audit/ }).count()).toBe(0);

  const { page: other, complaints } = await newPage();
  await other.goto(stranger.showing(link));
  await expect.poll(() => complaints.join()).toContain("frame-ancestors");
  expect(await other.frameLocator("iframe").getByRole("link").count()).toBe(0);
}
