import { Type } from "typebox";
import { WEBHOOK_STATES } from "./webhook-states.ts";
import { EXAMPLE } from "../../src/api/openapi/examples.ts";
import { closed, nullable, choice, type AreaDocs } from "../../src/api/openapi/shapes.ts";

const Text = Type.String();
/** A source of this kind, with this sheet in its manifest. */
export const SMARTSHEET_EXAMPLE = { source: "smartsheet", sheet: "4509506114742148" } as const;
const { source, sheet } = SMARTSHEET_EXAMPLE;
const SHEET = { sheet_id: sheet, sheet_name: "Purchase orders" };
const OURS = { source, callback_url: "https://hooks.example.com/webhook/smartsheet" };
const WEBHOOK = "4503604829677444";
const LEFT_OVER = "4503604829677440";

export const SmartsheetWebhooks = closed({
  source: Text,
  callback_url: Text,
  webhooks: Type.Array(
    closed({
      webhook_id: Text,
      name: nullable(Text),
      sheet_id: Text,
      sheet_name: nullable(Text),
      callback_url: nullable(Text),
      state: choice(WEBHOOK_STATES),
      status: nullable(Text),
      reason: nullable(Text),
      last_callback_at: nullable(Text),
    }),
  ),
  missing: Type.Array(closed({ sheet_id: Text, sheet_name: Text })),
});

export const SmartsheetRegistration = closed({
  source: Text,
  callback_url: Text,
  sheets: Type.Array(
    closed({
      sheet_id: Text,
      sheet_name: Text,
      outcome: choice(["created", "enabled", "unchanged", "failed"]),
      webhook_id: nullable(Text),
      status: nullable(Text),
      error: nullable(Text),
    }),
  ),
});

export const SmartsheetCleanup = closed({
  source: Text,
  callback_url: Text,
  dry_run: Type.Boolean(),
  webhooks: Type.Array(
    closed({
      webhook_id: Text,
      sheet_id: Text,
      state: choice(WEBHOOK_STATES),
      outcome: choice(["removed", "would_remove", "kept", "failed"]),
      error: nullable(Text),
    }),
  ),
});

export const SMARTSHEET_DOCS: AreaDocs = {
  tag: "Smartsheet",
  description:
    "Smartsheet's webhooks, which call sources of the kind `smartsheet`. Here the key may also be sent as " +
    "`x-functions-key` or as `?code=`, as scripts for Azure Functions do; a header is safer, because proxies log URLs",
  operations: {
    "GET /api/v1/smartsheet/webhooks": {
      description: "Lists all webhooks that the access token can see, each with its state for the source.",
      query: { source },
      answer: {
        status: 200,
        description: "The webhooks, and the sheets of the manifest that have none",
        schema: SmartsheetWebhooks,
        example: {
          ...OURS,
          webhooks: [
            {
              webhook_id: WEBHOOK,
              name: "smartsheet: Purchase orders",
              ...SHEET,
              callback_url: OURS.callback_url,
              state: "disabled",
              status: "DISABLED_CALLBACK_FAILED",
              reason: "its callbacks were not answered with 200",
              last_callback_at: EXAMPLE.time,
            },
          ],
          missing: [],
        },
      },
      errors: ["not_found", "conflict", "smartsheet_failed"],
    },
    "POST /api/v1/smartsheet/webhooks/register": {
      description:
        "For each sheet: creates a webhook unless there is one, stores its secret, enables it, and reports the " +
        "result. " +
        "Needs POSTHORN_PUBLIC_URL, because Smartsheet sends its challenge to that URL.",
      request: { source },
      answer: {
        status: 200,
        description: "The result for each sheet",
        schema: SmartsheetRegistration,
        example: {
          ...OURS,
          sheets: [{ ...SHEET, outcome: "created", webhook_id: WEBHOOK, status: "ENABLED", error: null }],
        },
      },
      errors: ["not_found", "conflict", "smartsheet_failed"],
    },
    "POST /api/v1/smartsheet/webhooks/cleanup": {
      description:
        "Removes duplicates and webhooks that were registered here but are useless: they call another address, their " +
        "sheet " +
        "has left the manifest, or they have ended. Webhooks of others stay.",
      request: { source, dry_run: true },
      answer: {
        status: 200,
        description: "The result for each webhook; with `dry_run`, the expected result",
        schema: SmartsheetCleanup,
        example: {
          ...OURS,
          dry_run: true,
          webhooks: [
            {
              webhook_id: LEFT_OVER,
              sheet_id: sheet,
              state: "duplicate",
              outcome: "would_remove",
              error: null,
            },
          ],
        },
      },
      errors: ["not_found", "conflict", "smartsheet_failed"],
    },
  },
};
