import type { OpenPlugin, PluginGateway } from "../../src/plugin.ts";
import { createSmartsheetAdmin, type SmartsheetAdmin, type SmartsheetSource } from "./admin.ts";
import { createSmartsheetClient } from "./client.ts";
import { openManifests } from "./manifests.ts";
import { SMARTSHEET_KIND, type SmartsheetContext, type WebhookStatusChange } from "./source-kind.ts";
import { openWebhookRegistry } from "./webhook-registry.ts";
import { ENABLED, explainStatus } from "./webhook-states.ts";

/** Everything for Smartsheet except the kind of source itself. */
export interface Smartsheet {
  context: SmartsheetContext;
  admin: SmartsheetAdmin;
  auditJob: OpenPlugin["jobs"][number];
  listDisabledSources: NonNullable<OpenPlugin["listDisabledSources"]>;
  /** Reads manifests early, so that an invalid one is logged before the first callback comes. */
  readManifests(): void;
  close(): void;
}

export interface SmartsheetOptions extends PluginGateway {
  accessToken: string | undefined;
  apiHost: string | undefined;
}

const AUDIT_EVERY_MS = 3_600_000;
/** Only the latest webhooks that were not registered here are remembered. */
const MAX_REMEMBERED = 10_000;

export async function openSmartsheet(options: SmartsheetOptions): Promise<Smartsheet> {
  const { clock, random, logger, ownEvents, accessToken, apiHost, publicUrl, userAgent } = options;
  const webhooks = await openWebhookRegistry(options);
  const manifests = openManifests({
    clock,
    onBroken: (path, reason) => logger.warn({ path, reason }, "a manifest is invalid; the last valid one stays in use"),
    onLoaded: (path, sheets) => logger.info({ path, sheets }, "a manifest was read"),
  });
  const statuses = new Map<string, string>();

  /** Reports a state once, however often it is received. */
  async function noteStatus({ source, webhookId, sheetId, status }: Omit<WebhookStatusChange, "at">): Promise<void> {
    const key = `${source}/${webhookId}`;
    const known = webhooks.list(source).find((one) => one.webhookId === webhookId);
    if ((statuses.get(key) ?? known?.status) === status) return;
    if (statuses.size >= MAX_REMEMBERED) statuses.clear();
    statuses.set(key, status);
    const saved = webhooks.setStatus(source, webhookId, status).catch(options.onFault);
    await Promise.all([saved, reportStatus({ source, webhookId, sheetId, status })]);
  }

  async function reportStatus({ source, webhookId, sheetId, status }: Omit<WebhookStatusChange, "at">): Promise<void> {
    const facts = { source, webhook_id: webhookId, sheet_id: sheetId, status };
    if (status === ENABLED) return logger.info(facts, "Smartsheet's webhook is enabled");
    if (!isDisabled(status)) return;
    const reason = explain({ webhookId, sheetId, status });
    logger.warn(facts, "Smartsheet has disabled a webhook and sends none of its events");
    const tenantId = options.sources().find(source)?.tenantId;
    if (tenantId === undefined) return;
    const data = { source, status: "disabled", reason };
    // Without signatures anybody can claim this any number of times.
    await ownEvents.publishOwn({ type: "source.disabled", tenantId, data, onlyIfWanted: true });
  }

  function listSources(): SmartsheetSource[] {
    const known = options
      .sources()
      .list(undefined)
      .map(({ source }) => source);
    const ours = known.filter(({ kind }) => kind === SMARTSHEET_KIND);
    return ours.map(({ name, pathToken, settings: { manifest } }) => ({ name, pathToken, manifest }));
  }

  const client =
    accessToken === undefined ? undefined : createSmartsheetClient({ accessToken, apiHost, clock, random, userAgent });
  const admin = createSmartsheetAdmin({
    client,
    registry: webhooks,
    listSources,
    findSheets: manifests.find,
    publicUrl,
    onStatus: (change) => void noteStatus(change),
    onMissing: (source, sheets) =>
      logger.warn({ source, sheets }, "sheets of the manifest have no webhook; register them"),
    onFailed: (source, webhookId, error) =>
      logger.warn({ source, webhook_id: webhookId, error }, "a webhook of Smartsheet could not be checked"),
  });

  return {
    context: { findSheets: manifests.find, findWebhooks: webhooks.find, noteStatus },
    admin,
    auditJob: {
      name: "audit-smartsheet",
      description: "Checks Smartsheet's webhooks and enables those again that a failure has disabled",
      everyMs: AUDIT_EVERY_MS,
      run: async ({ shouldStop }) => ({ summary: await admin.audit(shouldStop) }),
    },
    // Only webhooks that were registered here: anybody could claim it about others.
    listDisabledSources: () =>
      listSources().flatMap(({ name }) => {
        const [disabled] = webhooks.list(name).filter(({ status }) => isDisabled(status));
        const tenantId = options.sources().find(name)?.tenantId;
        return disabled && tenantId !== undefined ? [{ source: name, tenantId, reason: explain(disabled) }] : [];
      }),
    readManifests() {
      for (const { manifest } of listSources()) {
        try {
          if (manifest !== undefined) manifests.find(manifest);
        } catch {
          // Already logged.
        }
      }
    },
    close() {
      manifests.close();
      client?.close();
    },
  };
}

/** A webhook that was just created is not. */
function isDisabled(status: string): boolean {
  return status !== ENABLED && status !== "NEW_NOT_VERIFIED";
}

function explain({
  webhookId,
  sheetId,
  status,
}: Pick<WebhookStatusChange, "webhookId" | "sheetId" | "status">): string {
  return `Smartsheet's webhook ${webhookId} on the sheet ${sheetId} is ${status}: ${explainStatus(status)}`;
}
