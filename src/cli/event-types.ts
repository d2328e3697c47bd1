import { readAnswer } from "./api-client.ts";
import { connect, type ClientFlags } from "./connect.ts";
import { printList, type Column, type ListFlags } from "./list.ts";
import { countOf, formatAgo, formatFacts, print, printJson } from "./output.ts";
import { readDocument } from "./read-document.ts";

interface EventTypeAnswer {
  name: string;
  description: string | null;
  producer: string | null;
  consumers: string[];
  status: string;
  deprecated_at: string | null;
  replaced_by: string | null;
  enforce: boolean;
  versions: { version: string; schema: unknown; example: unknown }[];
  managed_by: string;
  updated_at: string;
}

interface ImportAnswer {
  created: string[];
  updated: string[];
  unchanged: string[];
}

const PATH = "/api/v1/event-types";

const COLUMNS: readonly Column<EventTypeAnswer>[] = [
  { heading: "EVENT TYPE", show: ({ name }) => name },
  { heading: "STATUS", show: ({ status }) => status },
  { heading: "VERSIONS", show: ({ versions }) => versions.map(({ version }) => version).join(", ") || "-" },
  { heading: "PRODUCER", show: ({ producer }) => producer ?? "-" },
  { heading: "CONSUMERS", show: ({ consumers }) => consumers.join(", ") || "-" },
  { heading: "DESCRIPTION", show: ({ description }) => description ?? "-" },
];

export async function runListEventTypes(flags: ListFlags & { status?: string }): Promise<void> {
  await printList(await connect(flags), PATH, flags, { query: { status: flags.status }, columns: COLUMNS });
}

export async function runShowEventType(name: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  const answer = await client.get(`${PATH}/${encodeURIComponent(name)}`);
  if (flags.json === true) return print(answer.text);
  const type = readAnswer(client, answer) as EventTypeAnswer;
  print(
    formatFacts([
      ["event type", type.name],
      ["description", type.description],
      ["producer", type.producer],
      ["consumers", type.consumers.join(", ")],
      ["status", type.deprecated_at === null ? type.status : `${type.status} since ${type.deprecated_at}`],
      ["replaced by", type.replaced_by],
      ["enforced", type.versions.length === 0 ? "no schema" : type.enforce ? "yes" : "no, mismatches are recorded"],
      ["managed by", type.managed_by],
      ["changed", formatAgo(type.updated_at, Date.now())],
    ]),
  );
  for (const { version, schema, example } of type.versions) {
    print(`\nversion ${version}`);
    printJson(schema);
    if (example !== null) {
      print("example");
      printJson(example);
    }
  }
}

export async function runImportEventTypes(file: string, flags: ClientFlags & { dryRun?: boolean }): Promise<void> {
  const document = readDocument(file);
  const client = await connect(flags);
  const path = `${PATH}/import${flags.dryRun === true ? "?dry_run=true" : ""}`;
  const answer = await client.post(path, JSON.stringify(document), { "content-type": "application/json" });
  if (flags.json === true) return print(answer.text);
  const { created, updated, unchanged } = readAnswer(client, answer) as ImportAnswer;
  const would = flags.dryRun === true ? "would be " : "";
  for (const name of created) print(`${name}  ${would}created`);
  for (const name of updated) print(`${name}  ${would}updated`);
  print(`${countOf(created.length + updated.length, "event type")} ${would}changed, ${unchanged.length} unchanged`);
}

export async function runExportEventTypes(flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  printJson(readAnswer(client, await client.get(`${PATH}/export`)));
}
