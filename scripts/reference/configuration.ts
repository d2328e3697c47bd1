import { readFileSync } from "node:fs";
import type { TSchema } from "typebox";
import { CHANNEL_FIELDS } from "../../src/config/sections.ts";
import { describeExpected, type JsonSchema, type SettingSchema } from "../../src/config/setting-schema.ts";
import { ClientSettings, SETTING_GROUPS, Settings } from "../../src/config/schema.ts";
import { generatedFrom } from "./generated-from.ts";

const ROOT = new URL("../../", import.meta.url);

function formatDefault({ default: value, defaultText }: SettingSchema): string {
  if (defaultText !== undefined) return defaultText;
  if (value === undefined) return "–";
  if (Array.isArray(value)) return value.length === 0 ? "none" : `\`${JSON.stringify(value)}\``;
  return `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
}

function formatSettingsTable(prefix: string, settings: Record<string, TSchema>): string[] {
  const rows = Object.entries(settings).map(([name, schema]) => {
    const { env, secret, description } = schema as SettingSchema;
    const names = secret === true ? `\`${env}\`, \`${env}_FILE\`` : `\`${env}\``;
    return `| \`${prefix}${name}\` | ${names} | ${formatDefault(schema)} | ${description} |`;
  });
  return ["| in the yaml | environment | default | meaning |", "|---|---|---|---|", ...rows];
}

function formatFieldsTable(list: JsonSchema | undefined): string[] {
  const { properties = {}, required = [], else: usual } = list?.items ?? {};
  const rows = Object.entries(properties).map(([name, schema]) => {
    const isRequired = required.includes(name) || usual?.required?.includes(name) === true;
    const value = isRequired ? "required" : formatDefault(schema);
    const expected =
      schema.pattern === undefined ? describeExpected(schema) : `text that matches \`${schema.pattern}\``;
    const { description } = schema;
    const hasBoth = description !== undefined && schema.pattern === undefined;
    const text = hasBoth ? `${description} (${expected})` : (description ?? expected);
    return `| \`${name}\` | ${value} | ${text.replaceAll("|", "\\|")} |`;
  });
  return ["| field | default | meaning |", "|---|---|---|", ...rows];
}

function formatClientTable(): string[] {
  const rows = Object.values<SettingSchema>(ClientSettings.properties).map(
    (schema) => `| \`${schema.env}\` | ${formatDefault(schema)} | ${schema.description} |`,
  );
  return ["| environment | default | meaning |", "|---|---|---|", ...rows];
}

/** docs/reference/configuration.md, from the schema of the settings. */
export function renderConfigDocs(): string {
  const {
    connections,
    event_types: eventTypes,
    sources,
    subscriptions,
    targets,
    tenants,
    alerts,
  } = Settings.properties as Record<string, TSchema> as Record<string, JsonSchema>;
  const example = readFileSync(new URL("posthorn.example.yaml", ROOT), "utf8").trimEnd();
  return [
    "# Configuration",
    "",
    generatedFrom("src/config/schema.ts"),
    "",
    "Posthorn starts without any configuration. Settings come from these places; a later one overrides an earlier one:",
    "",
    "1. the defaults",
    "2. `posthorn.yaml` in the working directory, or the file that `--config FILE` names",
    "3. the environment, and under it `.env` in this folder or the file that `--env-file` names; an empty variable counts as not set, and lists are written with commas",
    "4. the flags of the command line",
    "",
    "With unknown keys, wrong types or values out of range the gateway does not start. It ends with exit code 3 and",
    "lists every error with its place. `posthorn config show` prints the settings in effect and where they came from,",
    "with secrets masked. Relative paths start at the working directory.",
    "",
    "In the yaml, `${NAME}` and `${NAME:-default}` are replaced in values, never in keys; `$$` is a dollar sign. The",
    "default is also used for an empty variable. Put quotes around variables inside `[…]`. A variable can only be a",
    "value: it cannot add keys or items. Duplicate keys are rejected; `<<` has no meaning.",
    "",
    "Every secret can also be given as `NAME_FILE`, the path of a file that contains it.",
    "",
    ...SETTING_GROUPS.flatMap(({ title, prefix, settings }) => [
      `## ${title}`,
      "",
      ...formatSettingsTable(prefix, settings),
      "",
    ]),
    "## Connections",
    "",
    `\`connections\` is a list; names are unique per kind. ${connections?.description}.`,
    "The settings under Brokers define the connections `default`, and override a declared connection of that name.",
    "Install the Azure packages if you need them; an error names a missing one.",
    "",
    ...formatFieldsTable(connections),
    "",
    "## Declared sources",
    "",
    `\`sources\` is a list. ${sources?.description}.`,
    "",
    ...formatFieldsTable(sources),
    "",
    "## Declared subscriptions",
    "",
    `\`subscriptions\` is a list; names are unique per tenant. ${subscriptions?.description}.`,
    "Give either `retry_policy`, or `retry_count` and `retry_interval`.",
    "",
    ...formatFieldsTable(subscriptions),
    "",
    "## Declared targets",
    "",
    `\`targets\` is a list; names are unique per tenant. ${targets?.description}.`,
    "See [modes](../explanation/modes.md).",
    "",
    ...formatFieldsTable(targets),
    "",
    "## Declared tenants",
    "",
    `\`tenants\` is a list. ${tenants?.description}.`,
    "A tenant that is not declared is created, without quotas, by",
    "the first event, subscription or key that names it.",
    "",
    ...formatFieldsTable(tenants),
    "",
    "Its `quotas`:",
    "",
    ...formatFieldsTable({ items: tenants?.items?.properties?.["quotas"] } as JsonSchema),
    "",
    "## Declared event types",
    "",
    `\`event_types\` is a list; names are unique. ${eventTypes?.description}. They can also be declared in files of the`,
    "folder `event_types_dir`, each with one type or with a list `event_types`; variables are not replaced there. A",
    "type that is removed from the configuration stays, and no longer rejects events (`enforce` becomes `false`).",
    "",
    ...formatFieldsTable(eventTypes),
    "",
    "## Alert rules and channels",
    "",
    `\`alerts.rules\` is a list. ${alerts?.properties?.["rules"]?.description}.`,
    "",
    ...formatFieldsTable(alerts?.properties?.["rules"]),
    "",
    `\`alerts.channels\` is a list; names are unique. ${alerts?.properties?.["channels"]?.description}.`,
    "All other fields of a subscription are allowed too, except `events`, `event_filter`, `sources`, `mode` and `fallback`.",
    "",
    ...formatFieldsTable({ items: { properties: CHANNEL_FIELDS } } as unknown as JsonSchema),
    "",
    "## Client commands",
    "",
    "The commands that talk to a running gateway read these from the environment:",
    "",
    ...formatClientTable(),
    "",
    "## Example",
    "",
    "```yaml",
    example,
    "```",
    "",
  ].join("\n");
}

export function renderEnvExample(): string {
  const groups = SETTING_GROUPS.map(({ title, settings }) => {
    const lines = Object.values(settings).map((schema: SettingSchema) => {
      const { default: value, defaultText, env } = schema;
      return `#${env}=${value === undefined || defaultText !== undefined ? "" : String(value)}`;
    });
    return [`# ${title}`, ...lines, ""].join("\n");
  });
  return [
    "# Every setting by its environment name; docs/reference/configuration.md explains them.",
    "",
    ...groups,
  ].join("\n");
}
