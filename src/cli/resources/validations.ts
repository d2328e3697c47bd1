import { VALIDATION_FORMATS } from "../../model/validation.ts";
import { ReportedFailure } from "../failure.ts";
import { connect } from "../connect.ts";
import { formatBytes, note, print, printDocument } from "../output.ts";
import { readBytes, readCount } from "../read-value.ts";
import { ago, asText, bytes, printRows, type Field, type Row } from "./fields.ts";
import { flag } from "./flags.ts";
import { placeOf, type Call, type Resource } from "./resource.ts";

const PATH = "/validations";

const FORMAT = flag("--format <format>", "which format, when there are validations for both", {
  choices: VALIDATION_FORMATS,
});
const versionFlag = (help: string) =>
  flag("--version-number <number>", help, {
    field: "version",
    place: "query",
    read: (text, name) => readCount(text, name, { min: 1 }),
  });

const CHANGED: readonly Field[] = [
  ["CHANGED", "created_at", ago],
  ["BY", "created_by"],
];

const ERRORS: readonly Field[] = [
  ["PLACE", "path"],
  ["LINE", "line"],
  ["WHAT IS WRONG", "message"],
];

export const RESOURCE: Resource = {
  path: PATH,
  key: "endpoint",
  columns: [
    ["ENDPOINT", "endpoint"],
    ["FORMAT", "format"],
    ["VERSION", "version"],
    ["SIZE", "size", bytes],
    ...CHANGED,
  ],
  actions: {
    list: { help: "list the validations in force" },
    show: {
      help: "print a validation as it was given",
      alias: "get",
      flags: [FORMAT, versionFlag("an earlier version")],
      run: printValidation,
    },
    put: {
      help: "set a JSON Schema, an XML Schema or rules; - reads standard input",
      takes: "<endpoint> <file>",
      method: "PUT",
      path: ({ args }) => placeOf({ path: PATH }, args[0]),
      body: readFile,
      print: (_, { args }) => print(`${args[0]}: saved; webhooks are checked with it from now on`),
    },
    delete: { help: "delete a validation; `rollback` restores it", flags: [FORMAT] },
    versions: {
      help: "list the versions of a validation, latest first",
      columns: [
        ["VERSION", "version"],
        ["FORMAT", "format"],
        ["WHAT", "deleted in_force restored_from", describeVersion],
        ["SIZE", "size deleted", ([size, isDeleted]) => (isDeleted === true ? undefined : formatBytes(Number(size)))],
        ...CHANGED,
      ],
    },
    rollback: {
      help: "restore an earlier version",
      takes: "<endpoint> <version>",
      body: ({ args: [, version = ""] }) => ({ version: readCount(version, "version", { min: 1 }) }),
      print: ({ version }, { args: [endpoint, earlier] }) =>
        print(`${endpoint}: version ${earlier} is in force again, as version ${asText(version)}`),
    },
    test: {
      help: "test a payload against a validation; - reads standard input",
      takes: "<endpoint> <file>",
      flags: [
        flag("--content-type <type>", "format of the payload (default: detected)", {
          field: "content-type",
          place: "header",
        }),
        versionFlag("test against an earlier version"),
      ],
      body: readFile,
      print: printTest,
      check({ valid }) {
        if (valid === false) throw new ReportedFailure();
      },
    },
  },
  notes: `\`test\` exits with 1 when the payload does not pass.

Examples:
  posthorn validations put orders order.schema.json
  posthorn validations put orders order.xsd
  posthorn validations test orders order.json
  posthorn validations versions orders
  posthorn validations rollback orders 3`,
};

async function printValidation({ args: [endpoint], query, flags }: Call): Promise<void> {
  const client = await connect(flags);
  const { text } = await client.get(placeOf({ path: PATH }, endpoint), query);
  const isXml = text.trimStart().startsWith("<");
  if (flags.json === true && isXml) print(JSON.stringify({ endpoint, format: "xsd", document: text }));
  else printDocument(text);
}

function describeVersion([isDeleted, isInForce, from]: readonly unknown[]): string {
  if (isDeleted === true) return "deleted";
  return [...(isInForce === true ? ["in force"] : []), ...(from === null ? [] : [`from ${asText(from)}`])].join(", ");
}

function printTest({ valid, validation, errors }: Row, { args }: Call): void {
  if (valid === true) {
    return print(
      validation === null ? "passes: there is no validation" : `passes the validation of ${asText(validation)}`,
    );
  }
  note(`does not pass the validation of ${asText(validation) ?? args[0]}`);
  printRows(ERRORS, errors as Row[]);
}

function readFile({ args: [, file = ""], headers }: Call): Uint8Array {
  const document = readBytes(file);
  headers["content-type"] ??= guessType(document);
  return document;
}

/** XML starts with `<`, in any encoding. */
function guessType(document: Uint8Array): string {
  const first = document.find((byte) => ![0x20, 0x09, 0x0a, 0x0d, 0x00, 0xef, 0xbb, 0xbf, 0xff, 0xfe].includes(byte));
  return first === 0x3c ? "application/xml" : "application/json";
}
