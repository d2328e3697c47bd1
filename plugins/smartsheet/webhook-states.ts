import type { SheetNames } from "./manifests.ts";
import type { RemoteWebhook } from "./client.ts";
import type { KnownWebhook } from "./webhook-registry.ts";

/** The state of each of Smartsheet's webhooks for a source. */
export const WEBHOOK_STATES = [
  "active",
  "disabled",
  "duplicate",
  "unlisted",
  "ended",
  "stale",
  "gone",
  "foreign",
] as const;
/**
 * - `active`, `disabled`: calls this source, or would
 * - `duplicate`: an older webhook already calls this source for the same sheet, so Smartsheet skips this one
 * - `unlisted`: calls this source for a sheet that is not in its manifest
 * - `ended`: will never call this source again: a new webhook must be created
 * - `stale`: was registered here, but calls another address
 * - `gone`: was registered here, but no longer exists at Smartsheet
 * - `foreign`: belongs to somebody else
 */
export type WebhookState = (typeof WEBHOOK_STATES)[number];

export interface JudgedWebhook {
  webhookId: string;
  name: string | undefined;
  sheetId: string;
  sheetName: string | undefined;
  callbackUrl: string | undefined;
  state: WebhookState;
  /** The status at Smartsheet; undefined when the webhook no longer exists there. */
  status: string | undefined;
  reason: string | undefined;
  lastCallbackAt: string | undefined;
  remote: RemoteWebhook | undefined;
}

export interface Judgement {
  webhooks: readonly JudgedWebhook[];
  /** Sheets of the manifest without a webhook that calls this source. */
  missing: readonly { sheetId: string; sheetName: string }[];
}

const ENDED = "DISABLED_APP_REVOKED";

export function judgeWebhooks(
  remotes: readonly RemoteWebhook[],
  known: readonly KnownWebhook[],
  sheets: SheetNames | undefined,
  callbackUrl: string,
): Judgement {
  const registered = new Set(known.map(({ webhookId }) => webhookId));
  const chosen = chooseWebhooks(remotes, callbackUrl);

  function stateOf(remote: RemoteWebhook): WebhookState {
    if (!isFor(remote, callbackUrl)) return registered.has(remote.id) ? "stale" : "foreign";
    if (sheets !== undefined && !sheets.has(remote.scopeId)) return "unlisted";
    if (remote.status === ENDED) return "ended";
    if (chosen.get(remote.scopeId) !== remote) return "duplicate";
    return remote.status === ENABLED ? "active" : "disabled";
  }

  const webhooks = remotes.map((remote): JudgedWebhook => ({
    webhookId: remote.id,
    name: remote.name,
    sheetId: remote.scopeId,
    sheetName: sheets?.get(remote.scopeId),
    callbackUrl: remote.callbackUrl,
    state: stateOf(remote),
    status: remote.status,
    reason: explainRemote(remote),
    lastCallbackAt: remote.lastCallbackAt,
    remote,
  }));
  const atSmartsheet = new Set(remotes.map(({ id }) => id));
  for (const { webhookId, sheetId } of known) {
    if (atSmartsheet.has(webhookId)) continue;
    const sheetName = sheets?.get(sheetId);
    webhooks.push({ ...GONE, webhookId, sheetId, sheetName });
  }
  const isMissing = ([sheetId]: readonly [string, string]) => !chosen.has(sheetId);
  const missing = [...(sheets ?? [])].filter(isMissing).map(([sheetId, sheetName]) => ({ sheetId, sheetName }));
  return { webhooks, missing };
}

const GONE = {
  name: undefined,
  callbackUrl: undefined,
  state: "gone",
  status: undefined,
  reason: "it no longer exists at Smartsheet",
  lastCallbackAt: undefined,
  remote: undefined,
} as const;

function explainRemote({ status, disabledDetails }: RemoteWebhook): string | undefined {
  const reason = explainStatus(status);
  return reason === undefined || disabledDetails === undefined ? reason : `${reason} (${disabledDetails})`;
}

function isFor({ scope, callbackUrl }: RemoteWebhook, ours: string): boolean {
  return scope === "sheet" && callbackUrl === ours;
}

/** If a sheet has several webhooks, Smartsheet calls the oldest enabled one. */
function chooseWebhooks(remotes: readonly RemoteWebhook[], callbackUrl: string): Map<string, RemoteWebhook> {
  const chosen = new Map<string, RemoteWebhook>();
  for (const remote of remotes) {
    if (!isFor(remote, callbackUrl) || remote.status === ENDED) continue;
    const rival = chosen.get(remote.scopeId);
    if (rival === undefined || isBetter(remote, rival)) chosen.set(remote.scopeId, remote);
  }
  return chosen;
}

function isBetter(one: RemoteWebhook, other: RemoteWebhook): boolean {
  const isEnabled = one.status === ENABLED;
  if (isEnabled !== (other.status === ENABLED)) return isEnabled;
  const [made, madeOther] = [Date.parse(one.createdAt ?? ""), Date.parse(other.createdAt ?? "")];
  return made === madeOther || Number.isNaN(made + madeOther) ? Number(one.id) < Number(other.id) : made < madeOther;
}

export const ENABLED = "ENABLED";

/** States that `PUT {"enabled": true}` can end. Other states end on their own, or never. */
const MAY_BE_ENABLED: ReadonlySet<string> = new Set([
  "NEW_NOT_VERIFIED",
  "DISABLED_BY_OWNER",
  "DISABLED_CALLBACK_FAILED",
  "DISABLED_VERIFICATION_FAILED",
]);

export function mayBeEnabled(status: string): boolean {
  return MAY_BE_ENABLED.has(status);
}

const REASONS: Readonly<Record<string, string>> = {
  NEW_NOT_VERIFIED: "it was made and never enabled",
  DISABLED_BY_OWNER: "its owner disabled it",
  DISABLED_CALLBACK_FAILED: "its callbacks were not answered with 200",
  DISABLED_VERIFICATION_FAILED: "the challenge was not answered",
  DISABLED_SCOPE_INACCESSIBLE: "its owner cannot read the sheet; it comes back with the access",
  DISABLED_APP_REVOKED: "the access of the app that made it was revoked; it must be made anew",
  DISABLED_ADMINISTRATIVE: "Smartsheet disabled it; ask its support",
  DISABLED_EXCEEDED_GRID_LIMITS: "the sheet is too large for webhooks",
};

/** For people; undefined while it works. */
export function explainStatus(status: string): string | undefined {
  return status === ENABLED ? undefined : (REASONS[status] ?? "Smartsheet gives no reason that is known here");
}
