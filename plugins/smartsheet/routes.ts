import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import type { CleanedWebhook, RegisteredSheet, SmartsheetAdmin } from "./admin.ts";
import type { JudgedWebhook } from "./webhook-states.ts";

/** Only operators may use the access token, which belongs to the whole gateway. Their scripts may have function keys. */
const OPERATOR = { scope: "admin", unbound: true, functionKey: true } as const;

const SourceName = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 64,
    description: "A source of the kind `smartsheet`; optional if there is only one",
  }),
);
const ListQuery = Type.Object({ source: SourceName }, { additionalProperties: false });
const RegisterBody = Type.Object(
  {
    source: SourceName,
    sheet_ids: Type.Optional(
      Type.Array(Type.String({ pattern: "^[0-9]{1,32}$" }), {
        minItems: 1,
        maxItems: 10_000,
        description: "Only these sheets of the manifest",
      }),
    ),
  },
  { additionalProperties: false },
);
const CleanupBody = Type.Object(
  {
    source: SourceName,
    dry_run: Type.Optional(Type.Boolean({ default: false, description: "Only show what would be removed" })),
  },
  { additionalProperties: false },
);

export function addSmartsheetRoutes(app: FastifyInstance, admin: SmartsheetAdmin): void {
  app.get<{ Querystring: Static<typeof ListQuery> }>(
    "/api/v1/smartsheet/webhooks",
    { config: OPERATOR, schema: { summary: "List Smartsheet's webhooks", querystring: ListQuery } },
    async ({ query }) => {
      const { source, callbackUrl, webhooks, missing } = await admin.list(query.source);
      return {
        source,
        callback_url: callbackUrl,
        webhooks: webhooks.map(presentWebhook),
        missing: missing.map(({ sheetId, sheetName }) => ({ sheet_id: sheetId, sheet_name: sheetName })),
      };
    },
  );

  app.post<{ Body: Static<typeof RegisterBody> | null }>(
    "/api/v1/smartsheet/webhooks/register",
    {
      config: OPERATOR,
      schema: {
        summary: "Register the sheets of a manifest at Smartsheet",
        body: Type.Union([RegisterBody, Type.Null()]),
      },
    },
    async ({ body }) => {
      const { source, callbackUrl, sheets } = await admin.register(body?.source, body?.sheet_ids);
      return { source, callback_url: callbackUrl, sheets: sheets.map(presentSheet) };
    },
  );

  app.post<{ Body: Static<typeof CleanupBody> | null }>(
    "/api/v1/smartsheet/webhooks/cleanup",
    {
      config: OPERATOR,
      schema: {
        summary: "Delete Smartsheet's webhooks that are not needed",
        body: Type.Union([CleanupBody, Type.Null()]),
      },
    },
    async ({ body }) => {
      const options = { dryRun: body?.dry_run === true };
      const { source, callbackUrl, dryRun, webhooks } = await admin.cleanup(body?.source, options);
      return { source, callback_url: callbackUrl, dry_run: dryRun, webhooks: webhooks.map(presentCleaned) };
    },
  );
}

/** Without its secret. */
function presentWebhook(webhook: JudgedWebhook) {
  return {
    webhook_id: webhook.webhookId,
    name: webhook.name ?? null,
    sheet_id: webhook.sheetId,
    sheet_name: webhook.sheetName ?? null,
    callback_url: webhook.callbackUrl ?? null,
    state: webhook.state,
    status: webhook.status ?? null,
    reason: webhook.reason ?? null,
    last_callback_at: webhook.lastCallbackAt ?? null,
  };
}

function presentSheet({ sheetId, sheetName, outcome, webhookId, status, error }: RegisteredSheet) {
  return {
    sheet_id: sheetId,
    sheet_name: sheetName,
    outcome,
    webhook_id: webhookId ?? null,
    status: status ?? null,
    error: error ?? null,
  };
}

function presentCleaned({ webhookId, sheetId, state, outcome, error }: CleanedWebhook) {
  return { webhook_id: webhookId, sheet_id: sheetId, state, outcome, error: error ?? null };
}
