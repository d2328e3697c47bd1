import type { Command } from "commander";
import { Type } from "typebox";
import type { CommandLine, Plugin } from "../../src/plugin.ts";

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
  addCommands,
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

function addCommands(program: Command, { addClientOptions, rejectUnknownCommand, open }: CommandLine): void {
  const addSource = (command: Command) =>
    addClientOptions(command).option("--source <name>", "the source (default: the only one of the kind)");
  const smartsheet = program
    .command("smartsheet")
    .description("Smartsheet's own webhooks: register the sheets of a manifest, list them, clean up");
  addSource(smartsheet.command("register"))
    .description("create and enable a webhook for every sheet of the manifest that has none")
    .action(async (flags: object) => (await import("./commands.ts")).runRegister(await open(flags), flags));
  addSource(smartsheet.command("list", { isDefault: true }))
    .description("list the webhooks of the account, and whether the source uses them")
    .allowExcessArguments()
    .action(async (flags: object, command: Command) => {
      rejectUnknownCommand(command, smartsheet);
      await (await import("./commands.ts")).runListWebhooks(await open(flags), flags);
    });
  addSource(smartsheet.command("cleanup"))
    .description("remove duplicates, and our webhooks whose source is gone")
    .option("--dry-run", "only show what would be removed")
    .action(async (flags: object) => (await import("./commands.ts")).runCleanup(await open(flags), flags));
  smartsheet.addHelpText(
    "after",
    `
Without a command it lists. The gateway needs SMARTSHEET_ACCESS_TOKEN and POSTHORN_PUBLIC_URL, and a source of the kind smartsheet.

Examples:
  posthorn smartsheet register
  posthorn smartsheet list --json
  posthorn smartsheet cleanup --dry-run`,
  );
}
