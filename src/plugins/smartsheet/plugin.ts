import { Type } from "typebox";
import type { Plugin } from "../plugin.ts";
import { addSmartsheetCommands } from "./commands.ts";

const properties = {
  smartsheet_access_token: Type.Optional(
    Type.String({
      env: "SMARTSHEET_ACCESS_TOKEN",
      secret: true,
      pattern: "^[\\x21-\\x7e]{8,256}$",
      hint: "give the token as Smartsheet shows it",
      description: "Access token of the account whose webhooks `posthorn smartsheet` manages",
    }),
  ),
  smartsheet_api_host: Type.Optional(
    Type.String({
      env: "SMARTSHEET_API_HOST",
      minLength: 1,
      maxLength: 2048,
      defaultText: "`https://api.smartsheet.com/2.0/`",
      description: "Where Smartsheet's interface is; in Europe `https://api.smartsheet.eu/2.0/`",
    }),
  ),
};

/** Receives Smartsheet's callbacks, and registers, lists, watches and cleans up the webhooks that send them. */
export const smartsheet: Plugin<typeof properties> = {
  settings: { title: "Smartsheet", properties },
  addCommands: addSmartsheetCommands,
  loadDocs: async () => (await import("./routes.docs.ts")).SMARTSHEET_DOCS,
  async loadSourceKinds() {
    const { createSmartsheetKind } = await import("./source-kind.ts");
    const nothing = { findSheets: () => new Map(), findWebhooks: () => undefined, noteStatus: () => Promise.resolve() };
    return [createSmartsheetKind(nothing)];
  },
  loadSamples: async () => [(await import("./sample.ts")).SMARTSHEET_SAMPLE],
  async open(gateway, { smartsheet_access_token: accessToken, smartsheet_api_host: apiHost }) {
    const { openSmartsheet } = await import("./open.ts");
    const { addSmartsheetRoutes } = await import("./routes.ts");
    const { createSmartsheetKind } = await import("./source-kind.ts");
    const { context, admin, auditJob, listDisabledSources, readManifests, close } = await openSmartsheet({
      ...gateway,
      accessToken,
      apiHost,
    });
    return {
      listDisabledSources,
      sourceKinds: [createSmartsheetKind(context)],
      jobs: [auditJob],
      addRoutes: (app) => addSmartsheetRoutes(app, admin),
      start: readManifests,
      close,
    };
  },
};
