import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readEventLog as readLog } from "../../../examples/smartsheet-adapter/figures.ts";
import { createApiClient, until, type ApiClient, type ShownEvent } from "../../support/api-client.ts";
import { findFreePort } from "../../support/free-port.ts";
import { openCliFolder, type CliFolder, type RunningGateway } from "../../support/run-cli.ts";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";
import { openSinkServer, type SinkAnswer, type SinkRequest, type SinkServer } from "../../support/sink-server.ts";
import { startSmartsheetServer, type SheetEvent, type SmartsheetServer } from "../../support/smartsheet-server.ts";

const EXAMPLE = join(PROJECT_ROOT, "examples/smartsheet-adapter");
const [ORDERS, TAGS] = ["4509506114742148", "6141831453927300"] as const;
const ADMIN_KEY = "test-admin-key-0123456789";

let folder: CliFolder;
let gateway: RunningGateway;
let smartsheet: SmartsheetServer;
let core: SinkServer;
let api: ApiClient;

/** The example as it is, with what its `.env` would say. */
beforeAll(async () => {
  [folder, smartsheet, core] = await Promise.all([
    openCliFolder(),
    // It goes on trying for minutes, as long as a gateway may take to come back here.
    startSmartsheetServer({ allowHttpCallbacks: true, retryNonce: "fresh", timeFactor: 500 }),
    openSinkServer(),
  ]);
  answerAs(() => ({ status: 200 }));
  await cp(EXAMPLE, folder.path, { recursive: true });
  const port = await findFreePort();
  Object.assign(folder.env, {
    CORE_FUNCTIONS_BASE_URL: `http://127.0.0.1:${core.port}`,
    SMARTSHEET_ACCESS_TOKEN: smartsheet.token,
    SMARTSHEET_API_HOST: smartsheet.apiHost,
    POSTHORN_PUBLIC_URL: `http://127.0.0.1:${port}`,
    POSTHORN_ADMIN_KEY: ADMIN_KEY,
    POSTHORN_API_KEY: ADMIN_KEY,
    POSTHORN_ALLOW_HTTP_DESTINATIONS: "true",
    POSTHORN_ALLOW_PRIVATE_DESTINATIONS: "127.0.0.0/8",
    POSTHORN_DISK_MIN_FREE_BYTES: "0",
    POSTHORN_BALLAST_BYTES: "0",
    POSTHORN_MAX_LOOP_LAG_MS: "60000",
  });
  gateway = await folder.startGateway(["--port", String(port)]);
  folder.env["POSTHORN_URL"] = gateway.url;
  api = createApiClient({ url: () => gateway.url }, ADMIN_KEY);
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([smartsheet.close(), core.close()]);
  await folder.remove();
});

/** Where the core app is asked how it is. */
const isHealthCheck = ({ path }: SinkRequest) => path === "/api/health";
const changes = () => core.requests.filter((request) => !isHealthCheck(request));

function answerAs(answer: (request: SinkRequest) => SinkAnswer, isWell = true): void {
  core.answerWith((request) => {
    if (!isHealthCheck(request)) return answer(request);
    return isWell ? { status: 200, body: '{"status":"ok"}' } : { status: 503 };
  });
}

async function run(...args: string[]): Promise<Record<string, unknown>> {
  const { exitCode, stdout, stderr } = await folder.run(["smartsheet", ...args, "--json"]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  return JSON.parse(stdout) as Record<string, unknown>;
}

let seconds = 0;
/** Each in a second of its own, as Smartsheet's clock tells them apart. */
const rowEvent = (id: string, eventType = "updated"): SheetEvent => ({
  objectType: "row",
  eventType,
  id,
  timestamp: new Date(Date.UTC(2026, 10, 16, 9, 0, seconds++)).toISOString().replace(".000Z", ".000+0000"),
});

interface CoreEvent {
  event_id: string;
  sheet_id: string;
  row_id: string;
  action: string;
}

/** What the core app took, by sheet and in the order in which it came; a repeat counts once. */
function takenBy(sheetId: string, isTaken: (index: number) => boolean = () => true): string[] {
  const taken = new Map<string, string>();
  for (const [index, { body }] of changes().entries()) {
    const event = JSON.parse(body.toString("utf8")) as CoreEvent;
    if (event.sheet_id === sheetId && isTaken(index)) taken.set(event.event_id, event.row_id);
  }
  return [...taken.values()];
}

const eventsOf = async () => (await api.get("/api/v1/events?source=smartsheet&limit=500")).json["data"] as ShownEvent[];

const readEventLog = () => readLog(join(folder.path, "data/posthorn.db"));

describe("the Smartsheet adapter", () => {
  // shows: A23, A24
  it("registers every sheet of its manifest, and changes nothing when it does so again", async () => {
    const { sheets } = await run("register");
    expect(sheets).toMatchObject([
      { sheet_id: ORDERS, sheet_name: "Purchase orders", outcome: "created", status: "ENABLED", error: null },
      { sheet_id: TAGS, outcome: "created", status: "ENABLED", error: null },
    ]);
    expect((await run("register"))["sheets"]).toMatchObject([{ outcome: "unchanged" }, { outcome: "unchanged" }]);
    expect(smartsheet.webhooks.map(({ status, scopeObjectId }) => [status, scopeObjectId])).toEqual([
      ["ENABLED", ORDERS],
      ["ENABLED", TAGS],
    ]);
    const shown = await folder.run(["smartsheet", "register"]);
    expect([shown.exitCode, shown.stdout]).toEqual([0, expect.stringMatching(/Tags +unchanged +\d+\n$/)]);
    expect((await folder.run(["smartsheet", "list", "--source", "other"])).stderr).toContain("(not_found)");
    const listed = await folder.run(["smartsheet", "list"]);
    expect(listed.stdout).toMatch(/Purchase orders +active/);
    // The secrets are nowhere to be read.
    const database = await readFile(join(folder.path, "data/posthorn.db"), "latin1");
    for (const { sharedSecret } of smartsheet.webhooks) {
      expect(database).not.toContain(sharedSecret);
      expect(listed.stdout).not.toContain(sharedSecret);
    }
  });

  // shows: A12, A18, A29
  it("takes changes to the core app in the order of each sheet, and no others", async () => {
    smartsheet.change(ORDERS, [
      rowEvent("101", "created"),
      { objectType: "cell", eventType: "updated", rowId: "101", columnId: "7" },
      rowEvent("102"),
    ]);
    smartsheet.change(TAGS, [rowEvent("201")]);
    smartsheet.change(ORDERS, [{ ...rowEvent("103"), changeAgent: "core-functions" }, rowEvent("104")]);
    await smartsheet.idle();
    await until(() => takenBy(ORDERS).length === 3 && takenBy(TAGS).length === 1);
    await api.settled();
    expect(takenBy(ORDERS)).toEqual(["101", "102", "104"]);
    expect(changes().every(({ path }) => path === "/api/events")).toBe(true);
    expect(smartsheet.callbacks.every(({ status }) => status === 200)).toBe(true);
    expect((await eventsOf()).map(({ status }) => status)).toEqual([
      "COMPLETED",
      "COMPLETED",
      "COMPLETED",
      "COMPLETED",
    ]);
    // By the ids that the core app has seen.
    const ids = changes().map(({ body }) => (JSON.parse(body.toString("utf8")) as CoreEvent).event_id);
    const logged = readEventLog();
    expect(logged.every(({ status }) => status === "COMPLETED")).toBe(true);
    expect(logged.map(({ event_id }) => event_id).sort()).toEqual([...ids].sort());
    for (const id of ids) expect((await api.event(id)).event_id).toBe(id);
  });

  // shows: A5
  it("takes a callback once, however often it comes, and marks each of its changes", async () => {
    const [webhook] = smartsheet.webhooks;
    const first = smartsheet.callbacks.find(({ webhookId }) => webhookId === webhook?.id);
    const before = changes().length;
    for (let n = 0; n < 2; n++) expect(await smartsheet.sendRaw(webhook?.id ?? "", first?.body ?? "")).toBe(200);
    expect(await eventsOf()).toHaveLength(4);
    // Two rows in it, a cell beside them.
    await until(() => readEventLog().filter(({ status }) => status === "DUPLICATE").length === 4);
    // What was ignored is written down behind the answer.
    await until(
      async () => (await api.rejected("smartsheet")).filter(({ cause }) => cause === "duplicate").length === 2,
    );
    expect(changes()).toHaveLength(before);
  });

  // shows: A14
  it("ignores a sheet that is not in its manifest, until it is", async () => {
    const { callbackUrl = "" } = smartsheet.webhooks[0] ?? {};
    const manifest = join(folder.path, "workspace_manifest.json");
    const { sheets } = JSON.parse(await readFile(manifest, "utf8")) as { sheets: object[] };
    // A webhook whose secret the gateway does not know is turned away.
    const foreign = smartsheet.addWebhook({ scopeObjectId: "777", callbackUrl, enabled: true, status: "ENABLED" });
    const body = `{"nonce":"n","webhookId":${foreign.id},"scope":"sheet","scopeObjectId":777,"events":[]}`;
    expect(await smartsheet.sendRaw(foreign.id, body)).toBe(401);
    await run("cleanup");
    expect(smartsheet.webhooks.map(({ scopeObjectId }) => scopeObjectId)).toEqual([ORDERS, TAGS]);
    await writeFile(manifest, JSON.stringify({ sheets: [...sheets, { id: 777, name: "Invoices" }] }));
    await until(async () => JSON.stringify(await run("list")).includes("Invoices"));
    expect((await run("register"))["sheets"]).toMatchObject([{}, {}, { sheet_name: "Invoices", outcome: "created" }]);
    smartsheet.change("777", [rowEvent("301")]);
    await until(() => takenBy("777").length === 1);
  });

  // shows: A15
  it("loses nothing while the core app is down and the gateway restarts", async () => {
    answerAs(() => ({ status: 503 }), false);
    const downFrom = changes().length;
    const rows = Array.from({ length: 30 }, (_, n) => String(1000 + n));
    for (const row of rows) smartsheet.change(ORDERS, [rowEvent(row)]);
    await smartsheet.idle();
    await until(() => changes().length > downFrom);
    expect((await eventsOf()).filter(({ status }) => status === "PENDING")).toHaveLength(30);
    expect(readEventLog().filter(({ status }) => status === "PENDING")).toHaveLength(30);

    const { url } = gateway;
    await gateway.stop("SIGKILL");
    // Smartsheet tries again what nobody answers.
    smartsheet.change(ORDERS, [rowEvent("2000")]);
    await until(() => smartsheet.callbacks.at(-1)?.status === undefined);
    answerAs(() => ({ status: 200 }));
    const upFrom = changes().length;
    gateway = await folder.startGateway(["--port", new URL(url).port]);
    await smartsheet.idle();
    const isTaken = (index: number) => index >= upFrom;
    await until(() => takenBy(ORDERS, isTaken).length === 31);
    expect(takenBy(ORDERS, isTaken)).toEqual([...rows, "2000"]);
    await until(() => readEventLog().every(({ status }) => status !== "PENDING"));
    expect(readEventLog().filter(({ status }) => status === "COMPLETED")).toHaveLength(36);
  });

  // shows: A30
  it("shows as FAILED what the core app rejects, and goes on with the sheet", async () => {
    answerAs(({ body }) => ({ status: body.includes('"row_id":"666"') ? 400 : 200 }));
    smartsheet.change(TAGS, [rowEvent("666"), rowEvent("667")]);
    await until(() => takenBy(TAGS).includes("667"));
    await api.settled();
    expect((await eventsOf()).filter(({ status }) => status === "FAILED")).toHaveLength(1);
    expect(readEventLog().filter(({ status }) => status === "FAILED")).toMatchObject([
      { event_type: "smartsheet.row.updated", status: "FAILED" },
    ]);
  });

  // shows: A10
  it("stays verified: the challenge comes again after every hundred callbacks", async () => {
    answerAs(() => ({ status: 200 }));
    const webhook = smartsheet.webhooks.find(({ scopeObjectId }) => scopeObjectId === ORDERS);
    await until(async () => {
      smartsheet.change(ORDERS, [rowEvent("500")]);
      await smartsheet.idle();
      return webhook?.callbackCount === 100;
    });
    expect(webhook?.status).toBe("ENABLED");
  });

  it("tells that Smartsheet has disabled a webhook, and enables it again", async () => {
    const webhook = smartsheet.webhooks.find(({ scopeObjectId }) => scopeObjectId === TAGS);
    await api.subscribe({ name: "operators", url: core.url, events: ["source.disabled"] });
    await smartsheet.setStatus(webhook?.id ?? "", "DISABLED_CALLBACK_FAILED");
    await until(() => changes().some(({ body }) => body.includes("DISABLED_CALLBACK_FAILED")));
    await api.post("/api/v1/jobs/audit-smartsheet/run");
    await until(() => webhook?.status === "ENABLED");
    expect((await run("list"))["missing"]).toEqual([]);
  });

  // shows: A25
  it("cleans up: duplicates and what left the manifest go, others stay", async () => {
    const { callbackUrl = "" } = smartsheet.webhooks[0] ?? {};
    const duplicate = smartsheet.addWebhook({ scopeObjectId: ORDERS, callbackUrl });
    const foreign = smartsheet.addWebhook({ scopeObjectId: ORDERS, callbackUrl: "https://elsewhere.example/hook" });
    await cp(join(EXAMPLE, "workspace_manifest.json"), join(folder.path, "workspace_manifest.json"));
    await until(async () => JSON.stringify(await run("list")).includes('"unlisted"'));
    const planned = await run("cleanup", "--dry-run");
    expect(planned["webhooks"]).toHaveLength(2);
    expect(smartsheet.webhooks).toHaveLength(5);
    expect((await run("cleanup"))["webhooks"]).toMatchObject([{ outcome: "removed" }, { outcome: "removed" }]);
    const left = smartsheet.webhooks.map(({ id }) => id);
    expect(left).toHaveLength(3);
    expect(left).not.toContain(duplicate.id);
    expect(left).toContain(foreign.id);
    smartsheet.change(ORDERS, [rowEvent("999")]);
    await until(() => takenBy(ORDERS).includes("999"));
  });
});
