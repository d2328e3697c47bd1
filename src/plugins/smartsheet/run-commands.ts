import { readAnswer, type ApiClient } from "../../cli/api-client.ts";
import { connect, type ClientFlags } from "../../cli/connect.ts";
import { CommandFailure } from "../../cli/failure.ts";
import { countOf, formatAgo, note, print, printJson, printTable } from "../../cli/output.ts";
import { openProgress } from "../../cli/progress.ts";
import { listAll } from "../../cli/resources/find-by-name.ts";

interface SmartsheetFlags extends ClientFlags {
  source?: string;
  dryRun?: boolean;
}

interface ListAnswer {
  source: string;
  callback_url: string;
  webhooks: {
    webhook_id: string;
    sheet_id: string;
    sheet_name: string | null;
    callback_url: string | null;
    state: string;
    reason: string | null;
    last_callback_at: string | null;
  }[];
  missing: { sheet_id: string; sheet_name: string }[];
}

interface RegisterAnswer {
  source: string;
  callback_url: string;
  sheets: { sheet_id: string; sheet_name: string; outcome: string; webhook_id: string | null; error: string | null }[];
}

interface CleanupAnswer {
  webhooks: { webhook_id: string; sheet_id: string; state: string; outcome: string; error: string | null }[];
}

const KIND = "smartsheet";
const PATH = "/api/v1/smartsheet/webhooks";
const JSON_TYPE = { "content-type": "application/json" };
/** Few enough for one request to end soon: each sheet takes two or three calls to Smartsheet. */
const SHEETS_PER_REQUEST = 10;

export async function runRegister(flags: SmartsheetFlags): Promise<void> {
  const client = await connect(flags);
  const listed = await readList(client, flags);
  const inUse = listed.webhooks.filter(({ state }) => state === "active" || state === "disabled");
  const sheetIds = [...new Set([...inUse, ...listed.missing].map(({ sheet_id }) => sheet_id))];
  const { source, callback_url } = listed;
  const sheets: RegisterAnswer["sheets"] = [];
  const progress = openProgress(sheetIds.length);
  try {
    for (let at = 0; at < sheetIds.length; at += SHEETS_PER_REQUEST) {
      const body = { source, sheet_ids: sheetIds.slice(at, at + SHEETS_PER_REQUEST) };
      const answer = await client.post(`${PATH}/register`, JSON.stringify(body), JSON_TYPE);
      sheets.push(...(readAnswer(client, answer) as RegisterAnswer).sheets);
      progress.show(sheets.length);
    }
  } finally {
    progress.close();
  }
  if (flags.json === true) printJson({ source, callback_url, sheets });
  else printSheets(sheets);
  const failed = sheets.filter(({ outcome }) => outcome === "failed").length;
  if (failed > 0) throw new CommandFailure(`${countOf(failed, "sheet")} could not be registered.`);
}

function printSheets(sheets: RegisterAnswer["sheets"]): void {
  if (sheets.length === 0) return note("the manifest has no sheets");
  const rows = sheets.map((sheet) => [sheet.sheet_id, sheet.sheet_name, sheet.outcome, sheet.webhook_id ?? "-"]);
  printTable(["SHEET", "NAME", "OUTCOME", "WEBHOOK"], rows);
  for (const { sheet_name: name, error } of sheets) if (error !== null) note(`${name}: ${error}`);
}

export async function runListWebhooks(flags: SmartsheetFlags): Promise<void> {
  const client = await connect(flags);
  const { source } = flags;
  if (source === undefined && (await listAll(client, "/api/v1/sources", { kind: KIND })).length === 0) {
    if (flags.json === true) return printJson({ source: null, callback_url: null, webhooks: [], missing: [] });
    return note(`no source is of the kind ${KIND}. Create one with \`posthorn sources create NAME --kind ${KIND}\`.`);
  }
  if (flags.json === true) return print((await client.get(PATH, { source })).text);
  const { webhooks, missing } = await readList(client, flags);
  const wallMs = Date.now();
  const rows = webhooks.map((one) => [
    one.webhook_id,
    one.sheet_name ?? one.sheet_id,
    one.state,
    one.reason ?? "-",
    formatAgo(one.last_callback_at, wallMs),
    one.callback_url ?? "-",
  ]);
  for (const sheet of missing) rows.push(["-", sheet.sheet_name, "missing", "it has no webhook", "-", "-"]);
  if (rows.length === 0) return note("no webhooks found");
  printTable(["WEBHOOK", "SHEET", "STATE", "REASON", "LAST CALLBACK", "CALLBACK URL"], rows);
}

async function readList(client: ApiClient, { source }: SmartsheetFlags): Promise<ListAnswer> {
  return readAnswer(client, await client.get(PATH, { source })) as ListAnswer;
}

export async function runCleanup(flags: SmartsheetFlags): Promise<void> {
  const { source, dryRun = false } = flags;
  const client = await connect(flags);
  const answer = await client.post(`${PATH}/cleanup`, JSON.stringify({ source, dry_run: dryRun }), JSON_TYPE);
  const { webhooks } = readAnswer(client, answer) as CleanupAnswer;
  if (flags.json === true) print(answer.text);
  else if (webhooks.length === 0) note("there is nothing to remove");
  else {
    const rows = webhooks.map((one) => [one.webhook_id, one.sheet_id, one.state, one.outcome.replace("_", " ")]);
    printTable(["WEBHOOK", "SHEET", "STATE", "OUTCOME"], rows);
    for (const { webhook_id: id, error } of webhooks) if (error !== null) note(`${id}: ${error}`);
  }
  const failed = webhooks.filter(({ outcome }) => outcome === "failed").length;
  if (failed > 0) throw new CommandFailure(`${countOf(failed, "webhook")} could not be removed.`);
}
