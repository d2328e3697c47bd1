import { EventTypeChange } from "../../model/event-type.ts";
import { EVENT_TYPE_STATUSES } from "../../model/event.ts";
import { countOf, print, printJson } from "../output.ts";
import { readDocument, readObject } from "../read-value.ts";
import { ago, asText, type Row } from "./fields.ts";
import { FILE, flag, IDEMPOTENCY_KEY, IF_MATCH, switchFlag } from "./flags.ts";
import { placeOf, type Call, type Resource } from "./resource.ts";
import { flagsOf, type Exceptions } from "./schema-flags.ts";

const PATH = "/api/v1/event-types";

const EXCEPTIONS: Exceptions = {
  description: { flag: "--description <text>" },
  producer: { flag: "--producer <name>" },
  consumers: { flag: "--consumer <name...>" },
  status: null,
  deprecated_at: { flag: "--deprecated-at <time>" },
  replaced_by: { flag: "--replaced-by <name>" },
  enforce: { help: "reject events that do not match their schema", off: "accept them, and record the mismatch" },
};

const DEPRECATED = switchFlag("--deprecated", ["tell consumers that it will be removed", "not deprecated any more"], {
  field: "status",
  read: (isDeprecated) => (isDeprecated ? "deprecated" : "active"),
});

const versionsOf = (row: Row) => row["versions"] as Row[];
const versionPlace = ({ args: [name, version] }: Call) =>
  placeOf({ path: PATH }, name, `/versions/${encodeURIComponent(version ?? "")}`);

export const RESOURCE: Resource = {
  path: PATH,
  key: "name",
  columns: [
    ["EVENT TYPE", "name"],
    ["STATUS", "status"],
    ["VERSIONS", "versions", ([versions]) => (versions as Row[]).map(({ version }) => asText(version)).join(", ")],
    ["PRODUCER", "producer"],
    ["CONSUMERS", "consumers"],
    ["DESCRIPTION", "description"],
  ],
  facts: [
    ["event type", "name"],
    [
      "status",
      "status deprecated_at",
      ([status, since]) => [status, since].flatMap((part) => part ?? []).join(" since "),
    ],
    ["enforced", "enforce versions", describeEnforcement],
    ["changed", "updated_at", ago],
  ],
  more(row) {
    for (const { version, schema, example } of versionsOf(row)) {
      print(`\nversion ${asText(version)}`);
      printJson(schema);
      if (example === null) continue;
      print("example");
      printJson(example);
    }
  },
  actions: {
    list: {
      help: "list event types by name",
      flags: [flag("--status <status>", "only in this state", { choices: EVENT_TYPE_STATUSES })],
    },
    show: { help: "show an event type with its schemas and examples" },
    import: {
      help: "register the webhooks of an OpenAPI 3.1 document (JSON or yaml); - reads standard input",
      takes: "<file>",
      flags: [flag("--dry-run", "only show what would change", { place: "query" })],
      path: () => `${PATH}/import`,
      body: ({ args: [file = ""] }) => readDocument(file),
      print: printImport,
    },
    export: {
      help: "print all event types as webhooks of an OpenAPI 3.1 document",
      takes: "",
      method: "GET",
      path: () => `${PATH}/export`,
      print: printJson,
    },
    create: {
      help: "register an event type",
      flags: [FILE, ...flagsOf(EventTypeChange, EXCEPTIONS, true), DEPRECATED, IDEMPOTENCY_KEY],
      print: printChange,
    },
    update: {
      help: "change the given settings and keep the rest",
      flags: [FILE, ...flagsOf(EventTypeChange, EXCEPTIONS, false), DEPRECATED, IF_MATCH],
      print: printChange,
    },
    delete: { help: "delete an event type; events of that name are accepted without a check" },
    "put-version": {
      help: "add a version with its schema, or replace it",
      takes: "<name> <version>",
      flags: [
        flag("--schema <file>", "JSON Schema as JSON or yaml, - for standard input", {
          isRequired: true,
          read: readObject,
        }),
        flag("--example <file>", "an example payload that matches the schema", { read: readDocument }),
      ],
      method: "PUT",
      path: versionPlace,
      print: printChange,
    },
    "delete-version": {
      help: "delete one version",
      takes: "<name> <version>",
      method: "DELETE",
      path: versionPlace,
      print: printChange,
    },
  },
  notes: `

Examples:
  posthorn event-types --status deprecated
  posthorn event-types show order.created
  posthorn event-types import openapi.yaml --dry-run
  posthorn event-types export > openapi.json`,
};

function describeEnforcement([isEnforced, versions]: readonly unknown[]): string {
  if ((versions as Row[]).length === 0) return "no schema";
  return isEnforced === true ? "yes" : "no, mismatches are recorded";
}

function printImport(row: Row, { flags }: Call): void {
  const { created, updated, unchanged } = row as Record<"created" | "updated" | "unchanged", string[]>;
  const would = flags["dryRun"] === true ? "would be " : "";
  for (const name of created) print(`${name}  ${would}created`);
  for (const name of updated) print(`${name}  ${would}updated`);
  print(`${countOf(created.length + updated.length, "event type")} ${would}changed, ${unchanged.length} unchanged`);
}

function printChange(row: Row): void {
  const versions = versionsOf(row).map(({ version }) => asText(version));
  const shown = versions.length === 0 ? "no schema" : `versions ${versions.join(", ")}`;
  print(`${asText(row["name"])}: ${asText(row["status"])}, ${shown}`);
}
