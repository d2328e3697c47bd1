import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PROJECT_ROOT } from "../../test/support/sample-checkout.ts";
import type { Ending, Story } from "../support/example.ts";
import { countByStatus, describeCounts, query, readEventLog, type SmartsheetFigures } from "./figures.ts";
import { endWith, register, setUp, type SetUp } from "./set-up.ts";
import { rowsOf } from "./world/core-app.ts";
import { cell, row, SHEETS } from "./world/workspace.ts";

const ROWS_MEANWHILE = ["1001", "1002", "1003", "1004", "1005"];
const REFUSED_ROW = "666";
const EVENT_LOG =
  "select status, count(*), event_type from event_log where source = 'smartsheet' group by status, event_type";

/** Health is asked for, and failures are retried, several times a second instead of every minute and half minute. */
const hasten = (yaml: string) =>
  yaml.replace(
    "retry_policy: bursts\n",
    `retry_policy: { delays_s: ${JSON.stringify(Array(100).fill(0.2))} }\n    health_interval_s: 0.2\n`,
  );

/** `posthorn.yaml`: from Smartsheet straight to the core app. */
export async function tellOfTheAdapter(story: Story): Promise<Ending<SmartsheetFigures>> {
  story.step(
    "Start Smartsheet, the core app and the gateway",
    "The gateway is examples/smartsheet-adapter/posthorn.yaml.",
  );
  const place = await setUp(story, "posthorn.yaml", hasten);
  await place.gateway.start();
  story.passed(`gateway at ${place.gateway.url}, core app at ${place.core.url}`);

  story.step("Register a webhook for each sheet of the manifest");
  await register(story, place);
  await tellChanges(story, place);
  await tellRepeats(story, place);
  await tellManifest(story, place);
  await tellOutage(story, place);
  await tellRefusal(story, place);
  return endWith(place);
}

async function tellChanges({ step, check, until }: Story, { workspace, core, gateway }: SetUp): Promise<void> {
  step("People change rows", "Cells, and what the core app changed itself, do not count.");
  await workspace.change("Purchase orders", [row("101", "created"), cell("101"), row("102")]);
  await workspace.change("Tags", [row("201")]);
  await workspace.change("Purchase orders", [{ ...row("103"), changeAgent: "core-functions" }, row("104")]);
  await until("the changes at the core app", () => core.taken().length >= 4);
  await gateway.api.settled();
  check(
    "the core app has rows 101, 102 and 104, in this order",
    sameRows(rowsOf(core, SHEETS["Purchase orders"]), "101 102 104"),
  );
  check("and row 201 of the other sheet", sameRows(rowsOf(core, SHEETS.Tags), "201"));
}

const sameRows = (rows: readonly string[], wanted: string) => rows.join(" ") === wanted;

async function tellRepeats(story: Story, { workspace: { smartsheet }, core, gateway }: SetUp): Promise<void> {
  const { step, check, sent, answered, until } = story;
  step("The same callback comes again, and a forged one");
  const [first] = smartsheet.callbacks;
  const before = core.taken().length;
  sent("the first callback once more, byte for byte");
  const status = await smartsheet.sendRaw(first?.webhookId ?? "", first?.body ?? "");
  answered(String(status));
  const isMarked = () => readEventLog(gateway.database).filter((line) => line.status === "DUPLICATE").length === 2;
  await until("the duplicates in the event log", isMarked);
  check("200, two duplicates in the event log, and nothing for the core app", core.taken().length === before);

  const { callbackUrl = "" } = smartsheet.webhooks[0] ?? {};
  sent("a callback that somebody else signed");
  const forged = await fetch(callbackUrl, {
    method: "POST",
    headers: { "content-type": "application/json", "smartsheet-hmac-sha256": "0".repeat(64) },
    body: first?.body ?? "",
  });
  await forged.arrayBuffer();
  answered(String(forged.status));
  check("401: only Smartsheet is believed", forged.status === 401);
}

async function tellManifest(story: Story, { workspace, core, gateway }: SetUp): Promise<void> {
  const { step, check, until } = story;
  step("Take a sheet out of the manifest", "workspace_manifest.json is read again within two seconds.");
  const manifest = join(gateway.folder, "workspace_manifest.json");
  writeFileSync(manifest, JSON.stringify({ sheets: [{ id: SHEETS["Purchase orders"], name: "Purchase orders" }] }));
  const listed = async () => (await gateway.api.get("/api/v1/smartsheet/webhooks")).text;
  await until("the new manifest", async () => (await listed()).includes('"unlisted"'));
  const before = core.taken().length;
  await workspace.change("Tags", [row("202")]);
  const isNoted = async () =>
    (await gateway.api.rejected("smartsheet")).some(({ cause }) => cause === "unknown_context");
  await until("the ignored callback in the log of requests", isNoted);
  check("200, so that Smartsheet is content, and ignored: unknown_context", core.taken().length === before);
  cpSync(join(PROJECT_ROOT, "examples/smartsheet-adapter/workspace_manifest.json"), manifest);
  await until("the old manifest", async () => !(await listed()).includes('"unlisted"'));
}

async function tellOutage(story: Story, { workspace, core, gateway }: SetUp): Promise<void> {
  const { step, check, until, passed, say } = story;
  step("The core app is down", "It answers 503. People go on working.");
  core.isDown = true;
  const before = core.taken().length;
  await workspace.changeEach(["Purchase orders"], ROWS_MEANWHILE);
  await until("the mode QUEUE", async () => (await gateway.api.get("/status")).json["mode"] === "QUEUE");
  passed(
    `Smartsheet got its 200 each time; the event log: ${describeCounts(countByStatus(readEventLog(gateway.database)))}`,
  );
  core.isDown = false;
  say("The core app comes back.");
  const count = ROWS_MEANWHILE.length;
  await until("all changes at the core app", () => core.taken().length >= before + count);
  await until("the mode NORMAL", async () => (await gateway.api.get("/status")).json["mode"] === "NORMAL");
  const rows = rowsOf(core, SHEETS["Purchase orders"]).slice(-count);
  check(`the core app has all ${count}, in their order: ${rows.join(", ")}`, sameRows(rows, ROWS_MEANWHILE.join(" ")));
}

async function tellRefusal(story: Story, { workspace, core, gateway }: SetUp): Promise<void> {
  const { step, check, until } = story;
  step("The core app refuses one change", "400 is final: it becomes a dead letter, and the sheet goes on without it.");
  core.refusedRow = REFUSED_ROW;
  await workspace.change("Purchase orders", [row(REFUSED_ROW), row("667")]);
  await until("the change after it", () => rowsOf(core, SHEETS["Purchase orders"]).includes("667"));
  await gateway.api.settled();
  await gateway.posthorn(["dlq", "--columns", "type,dead_reason,last_error"]);
  const log = readEventLog(gateway.database);
  check("the event log has it as FAILED", log.filter(({ status }) => status === "FAILED").length === 1);
  story.say("The view event_log, in the database of the running gateway:");
  story.command(EVENT_LOG, query(gateway.database, EVENT_LOG).map(formatRow).join("\n"));
}

const formatRow = (row: Record<string, unknown>) =>
  Object.values(row)
    .map((value) => String(value ?? "-").padEnd(9))
    .join("  ")
    .trimEnd();
