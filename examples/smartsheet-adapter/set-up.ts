import type { Story } from "../support/example.ts";
import { CLI, describeGateway, exportsOf, openGateway, type ExampleGateway } from "../support/gateway.ts";
import { readEventLog, countByStatus, describeCounts, type SmartsheetFigures } from "./figures.ts";
import type { Ending } from "../support/example.ts";
import { openCoreApp, type CoreApp } from "./world/core-app.ts";
import { openWorkspace, row, SHEETS, type Workspace } from "./world/workspace.ts";

const FIRST_ROW = 5000;

export interface SetUp {
  workspace: Workspace;
  core: CoreApp;
  gateway: ExampleGateway;
}

export async function setUp(
  story: Story,
  config: string,
  change: (yaml: string) => string,
  env: Readonly<Record<string, string>> = {},
): Promise<SetUp> {
  const [workspace, core] = [await openWorkspace(story), await openCoreApp(story)];
  const gateway = await openGateway(story, {
    name: "gateway",
    example: "smartsheet-adapter",
    config,
    change,
    env: ({ url }) => ({
      CORE_FUNCTIONS_BASE_URL: core.url,
      SMARTSHEET_ACCESS_TOKEN: workspace.smartsheet.token,
      SMARTSHEET_API_HOST: workspace.smartsheet.apiHost,
      POSTHORN_PUBLIC_URL: url,
      ...env,
    }),
  });
  return { workspace, core, gateway };
}

/** `posthorn smartsheet register`: Smartsheet makes a webhook for each sheet, and the gateway answers its challenge. */
export async function register({ check }: Story, { gateway, workspace }: SetUp): Promise<void> {
  await gateway.posthorn(["smartsheet", "register"]);
  const { webhooks } = workspace.smartsheet;
  check(
    `Smartsheet has verified ${webhooks.length} webhooks: the gateway answered each challenge`,
    webhooks.length > 0 && webhooks.every(({ status }) => status === "ENABLED"),
  );
}

export async function endWith({ gateway, workspace, core }: SetUp): Promise<Ending<SmartsheetFigures>> {
  const figures: SmartsheetFigures = {
    changes: workspace.changes,
    callbacks: workspace.smartsheet.callbacks.length,
    taken: core.taken().length,
    eventLog: countByStatus(readEventLog(gateway.database)),
    deadLetters: (await gateway.api.deadLetters()).length,
  };
  return {
    figures,
    summary: [
      ["changes in sheets", `${figures.changes}, in ${figures.callbacks} callbacks`],
      ["taken by the core app", figures.taken],
      ["event log", describeCounts(figures.eventLog)],
      ["dead letters", figures.deadLetters],
    ],
    addresses: [...describeGateway(gateway), ["core app", core.url], ["Smartsheet", workspace.smartsheet.apiHost]],
    commands: [
      exportsOf(gateway),
      `${CLI} smartsheet list`,
      `${CLI} events`,
      `${CLI} dlq`,
      `${CLI} sources requests smartsheet`,
    ],
    async goOn(turn) {
      workspace.smartsheet.change(SHEETS["Purchase orders"], [row(String(FIRST_ROW + turn))]);
    },
  };
}
