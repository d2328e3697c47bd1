import { PosthornError } from "../../src/model/errors.ts";
import { TEXT_SECRET } from "../../src/model/secrets.ts";
import { createTurns } from "../../src/model/clock.ts";
import type { RemoteWebhook, SmartsheetClient } from "./client.ts";
import type { Manifest, SheetNames } from "./manifests.ts";
import { ENABLED, judgeWebhooks, mayBeEnabled, type JudgedWebhook, type Judgement } from "./webhook-states.ts";
import type { WebhookRegistry } from "./webhook-registry.ts";

/**
 * Manages Smartsheet's webhooks for the sources of that kind, one operation at a time. The source need not be named if
 * there is only one.
 */
export interface SmartsheetAdmin {
  /** Makes sure that all sheets of the manifest, or those given, call the source. Repeating it changes nothing. */
  register(source: string | undefined, sheetIds?: readonly string[]): Promise<RegisterReport>;
  list(source: string | undefined): Promise<WebhookList>;
  /** Removes useless webhooks: stale, duplicate, unlisted and ended ones. */
  cleanup(source: string | undefined, options: { dryRun: boolean }): Promise<CleanupReport>;
  /** Checks the webhooks of all sources that are set up, and enables those again that a failure has disabled. */
  audit(shouldStop: () => boolean): Promise<AuditSummary>;
}

export interface SmartsheetSource {
  name: string;
  manifest: Manifest | undefined;
  pathToken: string | undefined;
}

export interface RegisterReport {
  source: string;
  callbackUrl: string;
  sheets: readonly RegisteredSheet[];
}

export interface RegisteredSheet {
  sheetId: string;
  sheetName: string;
  outcome: "created" | "enabled" | "unchanged" | "failed";
  webhookId: string | undefined;
  status: string | undefined;
  error: string | undefined;
}

export interface WebhookList extends Judgement {
  source: string;
  callbackUrl: string;
}

export interface CleanupReport {
  source: string;
  callbackUrl: string;
  dryRun: boolean;
  webhooks: readonly CleanedWebhook[];
}

export interface CleanedWebhook {
  webhookId: string;
  sheetId: string;
  state: JudgedWebhook["state"];
  /** `kept`: not removed, because it may be the only webhook of its sheet. */
  outcome: "removed" | "would_remove" | "kept" | "failed";
  error: string | undefined;
}

export interface AuditSummary {
  [counted: string]: number;
  sources: number;
  active: number;
  enabled: number;
  disabled: number;
  missing: number;
  failed: number;
}

export interface SmartsheetAdminOptions {
  /** Undefined without an access token. */
  client: SmartsheetClient | undefined;
  registry: WebhookRegistry;
  /** The sources of the kind. */
  listSources: () => readonly SmartsheetSource[];
  findSheets: (manifest: Manifest) => SheetNames;
  publicUrl: string | undefined;
  /** Called when a webhook was found in this state. */
  onStatus: (change: { source: string; webhookId: string; sheetId: string; status: string }) => void;
  onMissing: (source: string, sheets: readonly string[]) => void;
  /** The audit could not check or enable a webhook, or any of the source. */
  onFailed: (source: string, webhookId: string | undefined, error: unknown) => void;
}

const MAX_NAME = 50;
/** A person disabled the webhook on purpose. */
const BY_OWNER = "DISABLED_BY_OWNER";
const CREATE_TRIES = 3;

export function createSmartsheetAdmin(options: SmartsheetAdminOptions): SmartsheetAdmin {
  const { registry, publicUrl } = options;
  const inTurn = createTurns();

  function getSource(name: string | undefined): SmartsheetSource {
    const sources = options.listSources();
    if (name !== undefined) {
      const source = sources.find((one) => one.name === name);
      if (source !== undefined) return source;
      throw new PosthornError("not_found", `There is no source "${name}" of the kind smartsheet.`);
    }
    const [only, ...others] = sources;
    if (only === undefined) throw new PosthornError("not_found", "There is no source of the kind smartsheet.");
    if (others.length === 0) return only;
    throw new PosthornError("invalid_field", `Name one of ${sources.map((one) => one.name).join(", ")} as source.`, {
      field: "source",
    });
  }

  function prepare(name: string | undefined) {
    const source = getSource(name);
    const { client } = options;
    if (client === undefined) {
      throw new PosthornError(
        "conflict",
        "Set SMARTSHEET_ACCESS_TOKEN to the token of an account that sees the sheets.",
      );
    }
    if (publicUrl === undefined) {
      throw new PosthornError(
        "conflict",
        "Set POSTHORN_PUBLIC_URL to the URL at which Smartsheet reaches the gateway.",
      );
    }
    const token = source.pathToken === undefined ? "" : `/${source.pathToken}`;
    const callbackUrl = `${publicUrl.replace(/\/+$/, "")}/webhook/${source.name}${token}`;
    const sheets = source.manifest === undefined ? undefined : options.findSheets(source.manifest);
    return { source: source.name, client, callbackUrl, sheets };
  }
  type Prepared = ReturnType<typeof prepare>;

  async function judge({ source, client, callbackUrl, sheets }: Prepared): Promise<Judgement> {
    return judgeWebhooks(await client.listWebhooks(), registry.list(source), sheets, callbackUrl);
  }

  async function remember({ source, client }: Prepared, remote: RemoteWebhook): Promise<void> {
    const { id: webhookId, scopeId: sheetId, status } = remote;
    const secret = remote.sharedSecret ?? (await client.getWebhook(webhookId)).sharedSecret;
    // With no secret, or one that is easy to guess, anybody could sign.
    if (secret === undefined || TEXT_SECRET.findProblem(secret) !== undefined) {
      throw new PosthornError("smartsheet_failed", `Smartsheet did not return the secret of the webhook ${webhookId}.`);
    }
    // Reported before it is stored: the listener compares it with the stored state.
    options.onStatus({ source, webhookId, sheetId, status });
    await registry.save({ source, webhookId, sheetId, status, secret });
  }

  /** An earlier call whose answer was lost may have created a webhook: look first, so as not to create two. */
  async function create(prepared: Prepared, sheetId: string, sheetName: string): Promise<RemoteWebhook> {
    const { client, source, callbackUrl } = prepared;
    const name = `${source}: ${sheetName}`.slice(0, MAX_NAME);
    for (let tries = 1; ; tries++) {
      try {
        return await client.createWebhook({ name, callbackUrl, sheetId });
      } catch (error) {
        const isOpen = error instanceof PosthornError && error.details?.["may_have_happened"] === true;
        if (!isOpen) throw error;
        const { webhooks } = await judge(prepared);
        const made = webhooks.find((one) => one.sheetId === sheetId && isInUse(one))?.remote;
        if (made !== undefined) return made;
        if (tries === CREATE_TRIES) throw error;
      }
    }
  }

  async function registerSheet(prepared: Prepared, sheet: [string, string], found: RemoteWebhook | undefined) {
    const [sheetId, sheetName] = sheet;
    const report: RegisteredSheet = {
      sheetId,
      sheetName,
      outcome: "unchanged",
      webhookId: found?.id,
      status: found?.status,
      error: undefined,
    };
    try {
      let remote = found ?? (await create(prepared, sheetId, sheetName));
      if (found === undefined) report.outcome = "created";
      report.webhookId = remote.id;
      // Stored before it is enabled: the challenge comes during that call, and only known webhooks are answered.
      await remember(prepared, remote);
      if (remote.status !== ENABLED) {
        remote = { ...(await prepared.client.enableWebhook(remote.id)), sharedSecret: remote.sharedSecret };
        await remember(prepared, remote);
        if (remote.status === ENABLED && found !== undefined) report.outcome = "enabled";
      }
      report.status = remote.status;
      if (remote.status !== ENABLED) {
        report.outcome = "failed";
        report.error = `Smartsheet did not enable the webhook: ${remote.disabledDetails ?? remote.status}.`;
      }
    } catch (error) {
      report.outcome = "failed";
      report.error = describe(error);
    }
    return report;
  }

  async function register(name: string | undefined, sheetIds?: readonly string[]): Promise<RegisterReport> {
    const prepared = prepare(name);
    const { source, callbackUrl, sheets } = prepared;
    if (sheets === undefined) {
      throw new PosthornError("conflict", `The source "${source}" has no manifest, so its sheets are unknown.`);
    }
    const unknown = sheetIds?.find((id) => !sheets.has(id));
    if (unknown !== undefined) {
      throw new PosthornError(
        "invalid_field",
        `The sheet ${unknown} is not in the manifest of the source "${source}".`,
        {
          field: "sheet_ids",
        },
      );
    }
    const { webhooks } = await judge(prepared);
    const reports: RegisteredSheet[] = [];
    for (const sheet of sheets) {
      if (sheetIds?.includes(sheet[0]) === false) continue;
      const found = webhooks.find((one) => one.sheetId === sheet[0] && isInUse(one))?.remote;
      reports.push(await registerSheet(prepared, sheet, found));
    }
    return { source, callbackUrl, sheets: reports };
  }

  async function list(name: string | undefined): Promise<WebhookList> {
    const prepared = prepare(name);
    const { source, callbackUrl } = prepared;
    const judgement = await judge(prepared);
    return { source, callbackUrl, webhooks: judgement.webhooks, missing: judgement.missing };
  }

  async function cleanup(name: string | undefined, dryRun: boolean): Promise<CleanupReport> {
    const prepared = prepare(name);
    const { source, callbackUrl, sheets, client } = prepared;
    const { webhooks } = await judge(prepared);
    const served = new Set(webhooks.filter(({ state }) => state === "active").map(({ sheetId }) => sheetId));
    const cleaned: CleanedWebhook[] = [];
    for (const { webhookId, sheetId, state } of webhooks.filter(isUseless)) {
      const report: CleanedWebhook = { webhookId, sheetId, state, outcome: "would_remove", error: undefined };
      cleaned.push(report);
      if (state === "stale" && sheets?.has(sheetId) !== false && !served.has(sheetId)) {
        report.outcome = "kept";
        report.error = "No other webhook of its sheet works. Register the sheet first.";
      } else if (!dryRun) {
        try {
          if (state !== "gone") await client.deleteWebhook(webhookId);
          await registry.remove(source, webhookId);
          report.outcome = "removed";
        } catch (error) {
          report.outcome = "failed";
          report.error = describe(error);
        }
      }
    }
    return { source, callbackUrl, dryRun, webhooks: cleaned };
  }

  async function auditSource(name: string, summary: AuditSummary, shouldStop: () => boolean): Promise<void> {
    const prepared = prepare(name);
    const { webhooks, missing } = await judge(prepared);
    summary.missing += missing.length;
    if (missing.length > 0)
      options.onMissing(
        name,
        missing.map(({ sheetId }) => sheetId),
      );
    for (const { remote, state } of webhooks) {
      if (shouldStop()) return;
      if (remote === undefined || (state !== "active" && state !== "disabled")) continue;
      try {
        await remember(prepared, remote);
        const isToBeEnabled = state === "disabled" && mayBeEnabled(remote.status) && remote.status !== BY_OWNER;
        const now = isToBeEnabled ? await prepared.client.enableWebhook(remote.id) : remote;
        if (isToBeEnabled) await remember(prepared, { ...now, sharedSecret: remote.sharedSecret });
        if (now.status !== ENABLED) summary.disabled++;
        else if (isToBeEnabled) summary.enabled++;
        else summary.active++;
      } catch (error) {
        summary.failed++;
        options.onFailed(name, remote.id, error);
      }
    }
  }

  async function audit(shouldStop: () => boolean): Promise<AuditSummary> {
    const summary = { sources: 0, active: 0, enabled: 0, disabled: 0, missing: 0, failed: 0 };
    if (options.client === undefined || publicUrl === undefined) return summary;
    for (const { name } of options.listSources()) {
      if (shouldStop()) break;
      summary.sources++;
      try {
        await auditSource(name, summary, shouldStop);
      } catch (error) {
        summary.failed++;
        options.onFailed(name, undefined, error);
      }
    }
    return summary;
  }

  return {
    register: (source, sheetIds) => inTurn(() => register(source, sheetIds)),
    list: (source) => inTurn(() => list(source)),
    cleanup: (source, { dryRun }) => inTurn(() => cleanup(source, dryRun)),
    audit: (shouldStop) => inTurn(() => audit(shouldStop)),
  };
}

function isInUse({ state }: JudgedWebhook): boolean {
  return state === "active" || state === "disabled";
}

function isUseless({ state }: JudgedWebhook): boolean {
  return !["active", "disabled", "foreign"].includes(state);
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
