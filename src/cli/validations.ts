import { readFileSync } from "node:fs";
import { readAnswer } from "./api-client.ts";
import { connect, type ClientFlags } from "./connect.ts";
import { usageFailure } from "./failure.ts";
import { printList, type Column, type ListFlags } from "./list.ts";
import { formatAgo, formatBytes, formatTable, note, print, printDocument } from "./output.ts";

interface FormatFlags extends ClientFlags {
  format?: string;
}

interface VersionFlags extends ClientFlags {
  versionNumber?: string;
}

interface ValidationAnswer {
  endpoint: string;
  format: string;
  version: number;
  size: number;
  created_at: string;
  created_by: string;
}

interface VersionAnswer extends ValidationAnswer {
  deleted: boolean;
  restored_from: number | null;
  in_force: boolean;
}

interface TestAnswer {
  valid: boolean;
  validation: string | null;
  errors: { path: string; message: string; line?: number }[];
}

const PATH = "/validations";
const pathOf = (endpoint: string) => `${PATH}/${encodeURIComponent(endpoint)}`;

const COLUMNS: readonly Column<ValidationAnswer>[] = [
  { heading: "ENDPOINT", show: ({ endpoint }) => endpoint },
  { heading: "FORMAT", show: ({ format }) => format },
  { heading: "VERSION", show: ({ version }) => String(version) },
  { heading: "SIZE", show: ({ size }) => formatBytes(size) },
  { heading: "CHANGED", show: ({ created_at }, wallMs) => formatAgo(created_at, wallMs) },
  { heading: "BY", show: ({ created_by }) => created_by },
];

const VERSION_COLUMNS: readonly Column<VersionAnswer>[] = [
  { heading: "VERSION", show: ({ version }) => String(version) },
  { heading: "FORMAT", show: ({ format }) => format },
  { heading: "WHAT", show: describeVersion },
  { heading: "SIZE", show: ({ size, deleted }) => (deleted ? "-" : formatBytes(size)) },
  { heading: "CHANGED", show: ({ created_at }, wallMs) => formatAgo(created_at, wallMs) },
  { heading: "BY", show: ({ created_by }) => created_by },
];

function describeVersion({ deleted, restored_from, in_force }: VersionAnswer): string {
  if (deleted) return "deleted";
  const origin = restored_from === null ? [] : [`from ${restored_from}`];
  return [...(in_force ? ["in force"] : []), ...origin].join(", ") || "-";
}

export async function runListValidations(flags: ListFlags): Promise<void> {
  await printList(await connect(flags), PATH, flags, { query: {}, columns: COLUMNS });
}

export async function runListVersions(endpoint: string, flags: ListFlags): Promise<void> {
  await printList(await connect(flags), `${pathOf(endpoint)}/versions`, flags, { query: {}, columns: VERSION_COLUMNS });
}

export async function runGetValidation(endpoint: string, flags: FormatFlags & VersionFlags): Promise<void> {
  const client = await connect(flags);
  const query = { format: flags.format, version: readVersion(flags.versionNumber) };
  const { text } = await client.get(pathOf(endpoint), query);
  const isXml = text.trimStart().startsWith("<");
  if (flags.json === true && isXml) print(JSON.stringify({ endpoint, format: "xsd", document: text }));
  else printDocument(text);
}

export async function runPutValidation(endpoint: string, file: string, flags: ClientFlags): Promise<void> {
  const document = readBytes(file);
  const client = await connect(flags);
  const answer = await client.put(pathOf(endpoint), document, { "content-type": guessType(document) });
  print(flags.json === true ? answer.text : `${endpoint}: in force`);
}

export async function runDeleteValidation(endpoint: string, flags: FormatFlags): Promise<void> {
  const client = await connect(flags);
  await client.remove(flags.format === undefined ? pathOf(endpoint) : `${pathOf(endpoint)}?format=${flags.format}`);
  print(flags.json === true ? JSON.stringify({ endpoint, deleted: true }) : `${endpoint}: deleted`);
}

export async function runRollBack(endpoint: string, version: string, flags: ClientFlags): Promise<void> {
  const body = JSON.stringify({ version: readVersion(version) });
  const client = await connect(flags);
  const answer = await client.post(`${pathOf(endpoint)}/rollback`, body, { "content-type": "application/json" });
  if (flags.json === true) return print(answer.text);
  const { version: made } = readAnswer(client, answer) as { version: number };
  print(`${endpoint}: version ${version} is in force again, as version ${made}`);
}

export async function runTestValidation(
  endpoint: string,
  file: string,
  flags: VersionFlags & { contentType?: string },
): Promise<void> {
  const payload = readBytes(file);
  const version = readVersion(flags.versionNumber);
  const client = await connect(flags);
  const path = `${pathOf(endpoint)}/test${version === undefined ? "" : `?version=${version}`}`;
  const answer = await client.post(path, payload, { "content-type": flags.contentType ?? guessType(payload) });
  const { valid, validation, errors } = readAnswer(client, answer) as TestAnswer;
  if (!valid) process.exitCode = 1;
  if (flags.json === true) return print(answer.text);
  if (valid)
    return print(validation === null ? "passes: there is no validation" : `passes the validation of ${validation}`);
  note(`does not pass the validation of ${validation ?? endpoint}`);
  const rows = errors.map(({ path: at, message, line }) => [
    at === "" ? "-" : at,
    line === undefined ? "-" : String(line),
    message,
  ]);
  print(formatTable(["PLACE", "LINE", "WHAT IS WRONG"], rows));
}

function readBytes(file: string): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(readFileSync(file === "-" ? 0 : file));
  } catch (error) {
    throw usageFailure(`Cannot read ${file} (${(error as NodeJS.ErrnoException).code}).`);
  }
}

/** XML begins with a bracket, in whatever encoding. */
function guessType(bytes: Uint8Array): string {
  const first = bytes.find((byte) => ![0x20, 0x09, 0x0a, 0x0d, 0x00, 0xef, 0xbb, 0xbf, 0xff, 0xfe].includes(byte));
  return first === 0x3c ? "application/xml" : "application/json";
}

function readVersion(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9][0-9]{0,14}$/.test(text)) throw usageFailure(`"${text}" is no version; write a number from 1 on.`);
  return Number(text);
}
