import type { Static } from "typebox";
import type { CommandTools } from "../../src/plugin.ts";
import type { SmartsheetCleanup, SmartsheetRegistration, SmartsheetWebhooks } from "./routes.docs.ts";

interface SmartsheetFlags {
  json?: boolean;
  source?: string;
  dryRun?: boolean;
}

type ListAnswer = Static<typeof SmartsheetWebhooks>;
type RegisterAnswer = Static<typeof SmartsheetRegistration>;
type CleanupAnswer = Static<typeof SmartsheetCleanup>;

const KIND = "smartsheet";
const PATH = "/api/v1/smartsheet/webhooks";
/** Few enough for one request to end soon: each sheet takes two or three calls to Smartsheet. */
const SHEETS_PER_REQUEST = 10;

export async function runRegister(tools: CommandTools, flags: SmartsheetFlags): Promise<void> {
  const listed = await readList(tools, flags);
  const inUse = listed.webhooks.filter(({ state }) => state === "active" || state === "disabled");
  const sheetIds = [...new Set([...inUse, ...listed.missing].map(({ sheet_id }) => sheet_id))];
  const { source, callback_url } = listed;
  const sheets: RegisterAnswer["sheets"] = [];
  const progress = tools.openProgress(sheetIds.length);
  try {
    for (let at = 0; at < sheetIds.length; at += SHEETS_PER_REQUEST) {
      const body = { source, sheet_ids: sheetIds.slice(at, at + SHEETS_PER_REQUEST) };
      const answer = await tools.post(`${PATH}/register`, body);
      sheets.push(...(answer.parse() as RegisterAnswer).sheets);
      progress.show(sheets.length);
    }
  } finally {
    progress.close();
  }
  if (flags.json === true) tools.printJson({ source, callback_url, sheets });
  else printSheets(tools, sheets);
  const failed = sheets.filter(({ outcome }) => outcome === "failed").length;
  if (failed > 0) throw tools.failure(`${tools.countOf(failed, "sheet")} could not be registered.`);
}

function printSheets({ note, printTable }: CommandTools, sheets: RegisterAnswer["sheets"]): void {
  if (sheets.length === 0) return note("the manifest has no sheets");
  const rows = sheets.map((sheet) => [sheet.sheet_id, sheet.sheet_name, sheet.outcome, sheet.webhook_id ?? "-"]);
  printTable(["SHEET", "NAME", "OUTCOME", "WEBHOOK"], rows);
  for (const { sheet_name: name, error } of sheets) if (error !== null) note(`${name}: ${error}`);
}

export async function runListWebhooks(tools: CommandTools, flags: SmartsheetFlags): Promise<void> {
  const { note } = tools;
  const { source } = flags;
  if (source === undefined && !(await hasSource(tools))) {
    if (flags.json === true) return tools.printJson({ source: null, callback_url: null, webhooks: [], missing: [] });
    return note(`no source is of the kind ${KIND}. Create one with \`posthorn sources create NAME --kind ${KIND}\`.`);
  }
  if (flags.json === true) return tools.print((await tools.get(PATH, { source })).text);
  const { webhooks, missing } = await readList(tools, flags);
  const rows = webhooks.map((one) => [
    one.webhook_id,
    one.sheet_name ?? one.sheet_id,
    one.state,
    one.reason ?? "-",
    tools.formatAgo(one.last_callback_at),
    one.callback_url ?? "-",
  ]);
  for (const sheet of missing) rows.push(["-", sheet.sheet_name, "missing", "it has no webhook", "-", "-"]);
  if (rows.length === 0) return note("no webhooks found");
  tools.printTable(["WEBHOOK", "SHEET", "STATE", "REASON", "LAST CALLBACK", "CALLBACK URL"], rows);
}

async function hasSource(tools: CommandTools): Promise<boolean> {
  const answer = await tools.get("/api/v1/sources", { kind: KIND, limit: 1 });
  return (answer.parse() as { data: unknown[] }).data.length > 0;
}

async function readList(tools: CommandTools, { source }: SmartsheetFlags): Promise<ListAnswer> {
  return (await tools.get(PATH, { source })).parse() as ListAnswer;
}

export async function runCleanup(tools: CommandTools, flags: SmartsheetFlags): Promise<void> {
  const { source, dryRun = false } = flags;
  const answer = await tools.post(`${PATH}/cleanup`, { source, dry_run: dryRun });
  const { webhooks } = answer.parse() as CleanupAnswer;
  if (flags.json === true) tools.print(answer.text);
  else if (webhooks.length === 0) tools.note("there is nothing to remove");
  else {
    const rows = webhooks.map((one) => [one.webhook_id, one.sheet_id, one.state, one.outcome.replace("_", " ")]);
    tools.printTable(["WEBHOOK", "SHEET", "STATE", "OUTCOME"], rows);
    for (const { webhook_id: id, error } of webhooks) if (error !== null) tools.note(`${id}: ${error}`);
  }
  const failed = webhooks.filter(({ outcome }) => outcome === "failed").length;
  if (failed > 0) throw tools.failure(`${tools.countOf(failed, "webhook")} could not be removed.`);
}
