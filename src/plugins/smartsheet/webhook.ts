import { Type, type Static } from "typebox";
import { Value } from "typebox/value";
import { PosthornError } from "../../model/errors.ts";

/** The manifest of sheets, and the states of Smartsheet's webhooks. */

export const SMARTSHEET_KIND = "smartsheet";

/** Today ids have up to 16 digits; a number beyond the precision of a float must be in quotes. */
const SheetId = Type.Union([
  Type.String({ pattern: "^[1-9][0-9]{0,31}$" }),
  Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
]);

/** `workspace_manifest.json`. */
export const WorkspaceManifest = Type.Object(
  {
    workspace: Type.Optional(
      Type.Object({ id: Type.Optional(SheetId), name: Type.Optional(Type.String({ maxLength: 255 })) }),
    ),
    sheets: Type.Array(Type.Object({ id: SheetId, name: Type.String({ minLength: 1, maxLength: 255 }) }), {
      maxItems: 10_000,
    }),
  },
  { description: "Sheets whose events are accepted: `sheets`, each with `id` and `name`" },
);
export type WorkspaceManifest = Static<typeof WorkspaceManifest>;

/** As in the configuration of a source: the path of a file, or its content. */
export type Manifest = string | Readonly<Record<string, unknown>>;

/** Names of sheets by their ids. */
export type SheetNames = ReadonlyMap<string, string>;

/** Throws `invalid_field` for `manifest` with the reason. */
export function readManifest(manifest: unknown): SheetNames {
  if (!Value.Check(WorkspaceManifest, manifest)) {
    const [first] = Value.Errors(WorkspaceManifest, manifest);
    const where = first === undefined || first.instancePath === "" ? "it" : first.instancePath;
    throw invalidManifest(`${where} ${first?.message ?? "is not valid"}. ${SHAPE}`);
  }
  const sheets = new Map<string, string>();
  for (const { id, name } of manifest.sheets) {
    const digits = String(id);
    if (sheets.has(digits)) throw invalidManifest(`the sheet ${digits} is listed twice.`);
    sheets.set(digits, name);
  }
  return sheets;
}

const SHAPE = 'Write {"sheets": [{"id": "4509506114742148", "name": "Purchase orders"}]}; ids beyond 2^53 in quotes';

function invalidManifest(reason: string): PosthornError {
  return new PosthornError("invalid_field", `The manifest is not valid: ${reason}`, { field: "manifest" });
}

/** What the kind of source needs from the rest of the gateway. */
export interface SmartsheetContext {
  /** Throws `unavailable` while the file cannot be read. */
  findSheets(manifest: Manifest): SheetNames;
  /** The webhooks registered for the source; undefined when none was ever registered here. */
  findWebhooks(source: string): RegisteredWebhooks | undefined;
  /** Called when Smartsheet reports another state of a webhook. Resolves when it is on disk. */
  noteStatus(change: WebhookStatusChange): Promise<void>;
}

export interface RegisteredWebhooks {
  /** By webhook id; all secrets that are valid now. */
  readonly secrets: ReadonlyMap<string, readonly string[]>;
}

export interface WebhookStatusChange {
  source: string;
  webhookId: string;
  sheetId: string | undefined;
  status: string;
  at: number;
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
