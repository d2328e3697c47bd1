import { SOURCE_STATUSES, SourceInput } from "../../model/source.ts";
import { usageFailure } from "../failure.ts";
import { formatBytes, note, print } from "../output.ts";
import { readCount, readPairs, readSecret } from "../read-value.ts";
import { ago, asText, at, type Format, pairs, printStatus, seconds, type Row } from "./fields.ts";
import { FILE, flag, IDEMPOTENCY_KEY, IF_MATCH, OF_TENANT, OWNER } from "./flags.ts";
import { REQUEST_COLUMNS } from "./requests.ts";
import { type Call, placeOf, type Resource } from "./resource.ts";
import { flagsOf, type Exceptions } from "./schema-flags.ts";

const EXCEPTIONS: Exceptions = {
  name: null,
  tenant_id: null,
  kind: {
    help: "the kind of sender: generic, github, stripe, …; it decides how requests are verified, answered and split",
  },
  secrets: {
    flag: "--secret-file <path...>",
    help: "files with the secrets, the current one first; - for standard input",
    read: readSecret,
  },
  auth: {
    flag: "--auth-header <name>",
    help: "a header that must contain a token, otherwise the answer is 401; or none",
    read: (text) => text,
  },
  allowed_ips: { flag: "--allowed-ip <cidr...>" },
  methods: { help: "HTTP methods that are accepted" },
  content_types: { flag: "--content-type <type...>" },
  only: { flag: "--only <pattern...>" },
  manifest: { help: "the manifest that must contain the sender's ids, for kinds that have one: JSON, @FILE, or none" },
  refuse_replays: { off: "accept them" },
  path_token: {
    help: "accept webhooks only at an unguessable path, which is printed",
    off: "accept webhooks at /webhook/NAME again",
  },
  options: {
    flag: "--option <name=value...>",
    help: "settings of the kind; they replace all earlier ones",
    readAll: readOptions,
  },
};

/** Flags for values that only an update can remove. */
const removable = (isRemovable: boolean): Exceptions => ({
  event_type: {
    flag: "--event-type <template>",
    help: `the type of its events: {source} stands for its name, {type} for the type that its kind finds${isRemovable ? "; or none" : ""}`,
    isRemovable,
  },
  id_from: { flag: "--id-from <place>", isRemovable },
  ordering_key_from: { flag: "--ordering-key-from <place>", isRemovable },
  priority_from: { flag: "--priority-from <place>", isRemovable },
});

const TOKEN = flag("--auth-token-file <path>", "the file with the token for --auth-header, - for standard input", {
  field: "token",
  read: readSecret,
});

const secretsOf: Format = ([secrets]) =>
  (secrets as Row[]).map(({ id, hint }) => `${asText(id)} (${asText(hint)})`).join(", ");

const PATH = "/api/v1/sources";

export const RESOURCE: Resource = {
  path: PATH,
  key: "name",
  columns: [
    ["SOURCE", "name"],
    ["KIND", "kind"],
    ["TENANT", "tenant_id"],
    ["STATUS", "status"],
    ["EVENTS", "only", ([only]) => asText(only) ?? "all"],
    ["MANAGED BY", "managed_by"],
    ["LAST REQUEST", "last_request_at", ago],
  ],
  facts: [
    ["source", "name"],
    ["path", "name path_token", (parts) => `/webhook/${parts.filter((part) => part !== null).join("/")}`],
    ["secrets", "secrets", secretsOf],
    ["token in", "auth.header"],
    ["takes", "methods max_bytes", ([methods, max]) => `${asText(methods)} up to ${formatBytes(Number(max))}`],
    ["answer within", "answer_within", seconds],
    ["options", "options", pairs],
    ["created", "created_at", at],
    ["last request", "last_request_at", ago],
  ],
  more({ path_token: token }) {
    if (token !== null && token !== "***") note("the path is a secret: everybody who knows it can send");
  },
  actions: {
    list: {
      help: "list sources by name",
      flags: [
        OF_TENANT,
        flag("--kind <kind>", "only of this kind"),
        flag("--status <status>", "only in this state", { choices: SOURCE_STATUSES }),
      ],
    },
    show: { help: "show a source", alias: "get" },
    create: {
      help: "create a source",
      takes: "<name>",
      flags: [
        FILE,
        ...flagsOf(SourceInput, { ...EXCEPTIONS, ...removable(false) }, true),
        TOKEN,
        OWNER,
        IDEMPOTENCY_KEY,
      ],
      body: withAuth,
    },
    update: {
      help: "change the given settings and keep the rest; none removes a setting",
      flags: [FILE, ...flagsOf(SourceInput, { ...EXCEPTIONS, ...removable(true) }, false), TOKEN, IF_MATCH],
      body: withAuth,
    },
    pause: { help: "answer 503, so that senders retry later", print: printStatus },
    resume: { help: "accept webhooks again", print: printStatus },
    close: { help: "answer 410, so that senders stop", print: printStatus },
    "rotate-secret": {
      help: "create a new secret and print it; earlier ones are accepted for a while",
      flags: [
        flag("--overlap <seconds>", "how long the old secrets stay valid; 0 ends them immediately (default: 14 days)", {
          field: "overlap_s",
          read: (text, name) => readCount(text, name, { max: 31_536_000 }),
        }),
        flag("--secret-file <path>", "read the new secret from a file, or - for standard input", {
          field: "secret",
          read: readSecret,
        }),
      ],
      body: ({ body }) => body,
      print: printSecret,
    },
    path: {
      help: "print the path with its token; the gateway logs that it was read",
      method: "GET",
      path: ({ args: [name] }) => placeOf({ path: PATH }, name, "/path-token"),
      print: ({ path }) => print(String(path)),
    },
    delete: { help: "delete a source; its events stay" },
    requests: {
      help: "list the rejected and ignored requests, latest first",
      flags: [
        flag("--outcome <outcome>", "only those", { choices: ["rejected", "ignored"] }),
        flag("--cause <cause>", "only for this reason: bad_signature, duplicate, filtered, …"),
      ],
      columns: REQUEST_COLUMNS,
    },
  },
  notes: `\`posthorn requests replay\` accepts a rejected or ignored request afterwards.

Examples:
  posthorn sources create github --kind github --secret-file secret.txt
  posthorn sources create orders --auth-header X-Token --auth-token-file token.txt --allowed-ip 203.0.113.0/24
  posthorn sources update orders --only 'order.*' --max-bytes 1048576
  posthorn sources requests github --cause bad_signature`,
};

function withAuth({ body: { token, ...body }, flags }: Call): Row {
  // A file gives the whole setting.
  const header = flags["authHeader"];
  if (header === "none" || (header === undefined && token === undefined)) return body;
  if (header === undefined || token === undefined) {
    throw usageFailure("--auth-header and --auth-token-file must be given together.");
  }
  return { ...body, auth: { header, token } };
}

/** A value that is JSON, such as a number or a list, is parsed; any other value is a text. */
function readOptions(given: readonly string[], name: string): Row {
  const texts = Object.entries(readPairs(given, name, /^([^=]+)=(.*)$/s));
  return Object.fromEntries(texts.map(([option, text]) => [option, parseValue(text)]));
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function printSecret({ secret, secrets }: Row): void {
  const [, before] = secrets as Row[];
  const endsAt = before?.["ends_at"] ?? null;
  note(endsAt === null ? "only the new secret is valid" : `the earlier ones are valid until ${asText(endsAt)}`);
  // On a line of its own, so that a script can capture it in a variable.
  print(String(secret));
}
