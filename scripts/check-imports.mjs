// The rules for imports under src/ and plugins/, in ONE table. A reader who follows an event from intake/ to
// destinations/ moves forward only; this check keeps it so. Usage: node scripts/check-imports.mjs [root]
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "oxc-parser";

/** The store as everything but its drivers sees it. */
const STORE = ["store/store.ts", "store/port/"];
const TEMPLATES = "sandbox/templates/templates.ts";
/** What users configure, and what that is made of. */
const CONFIGURED = ["model/", "telemetry/", TEMPLATES, "destinations/", "deliver/", "resources/", ...STORE];
/** What comes in. */
const INCOMING = ["accept/", "sandbox/", "sources/", "queues/"];
const RUNNING = [...CONFIGURED, ...INCOMING, "intake/", "jobs/", "alerts/", "replays/"];
/** The port of plugins, and the list of them. */
const PLUGINS = ["plugin.ts", "plugins.ts"];

/**
 * The rooms, lowest first, and what each may import beside itself. The first line that fits a file decides. A trailing
 * slash means everything below; a path with `.ts` means that file.
 */
const DIRECTIONS = Object.entries({
  "model/": [],
  "telemetry/": ["model/"],
  "store/open.ts": ["model/", "store/"],
  "store/sqlite/": ["model/", "store/port/", "store/store.ts", "store/commit/"],
  "store/commit/": ["model/", ...STORE],
  "store/": ["model/", ...STORE],
  "queues/": ["model/"],
  "sandbox/": ["model/", "store/port/"],
  "sources/": ["model/", "queues/", "sandbox/"],
  "destinations/": ["model/", "queues/", TEMPLATES],
  "deliver/": ["model/", "telemetry/", "destinations/sender.ts", "destinations/senders.ts", ...STORE],
  "resources/": CONFIGURED,
  "accept/": ["model/", "telemetry/", "sandbox/", "resources/", ...STORE],
  "intake/": ["model/", "telemetry/", "resources/", ...INCOMING, ...STORE],
  "jobs/": [...CONFIGURED, "accept/", "queues/"],
  "alerts/": [...CONFIGURED, "accept/", "jobs/"],
  "replays/": [...CONFIGURED, ...INCOMING, "intake/", "alerts/"],
  "api/": [...RUNNING, "plugins.ts"],
  "plugin.ts": [...CONFIGURED, "accept/", "sources/", "jobs/", "alerts/", "api/openapi/"],
  "plugins.ts": ["plugin.ts", "plugins/"],
  // Everything else of the gateway is handed to a plugin through the port.
  "plugins/": ["plugin.ts", "model/", "sandbox/text/", "sources/source-kind.ts", "sources/sample.ts", "api/openapi/"],
  "config/": ["model/", "destinations/", "plugins.ts"],
  // The only command that runs a gateway. The others send requests to one, read its files, or try what it reaches.
  "cli/start.ts": ["model/", "telemetry/", "config/", "resources/", "store/sqlite/", "gateway.ts", "cli/"],
  "cli/": "model/ telemetry/ config/ sources/ destinations/ queues/ resources/ store/ plugin.ts plugins.ts".split(" "),
  "gateway.ts": [...RUNNING, "store/", "config/", "api/", ...PLUGINS, "gateway/"],
  "gateway/": [...RUNNING, "store/", "config/", "api/", ...PLUGINS],
}).map(([from, may]) => ({ from, may }));

/** Outside of src/: the client of the API, which the command line shares with the SDK and the dashboard. */
const OUTSIDE = ["sdk/src/client/", "sdk/src/generated/shapes.ts"].map((may) => ({ from: "cli/", may }));

/** Only the folder itself and its lists may import the files of one kind. */
const BEHIND_LISTS = [
  {
    folder: /^destinations\/(?!wire\/)[^/]+\//,
    lists: ["destinations/kinds.ts", "destinations/senders.ts"],
    what: "a kind of destination",
  },
  { folder: /^plugins\/[^/]+\//, lists: ["plugins.ts"], what: "a plugin" },
];

/** Folders without a cycle of imports, types included: each file can be read after those that it imports. */
const WITHOUT_CYCLES = ["deliver/", "destinations/"];

const OUTGOING = ["cli/listen/local-server.ts"];
// The last one connects only to gateways that a command has started itself, on this machine.
const SOCKETS = ["destinations/wire/guarded-connect.ts", "destinations/wire/proxy-tunnel.ts", "cli/trial/load.ts"];
const SERVERS = ["api/", "cli/sink.ts", "cli/trial/"];

/** Packages, and names in packages, that only some files may import. Types are free. */
const RESERVED = [
  { package: /^nodemailer/, only: ["destinations/email/"], why: "only the pool of the kind email sends e-mail" },
  { package: "undici", only: OUTGOING, why: "all outgoing requests go through destinations/wire/http-client.ts" },
  { package: /^node:https?$/, names: ["createServer", "Server"], only: SERVERS, why: "only api/ and the sink listen" },
  {
    package: /^node:https?$/,
    names: ["request", "get", "Agent", "globalAgent", "ClientRequest", "*"],
    only: OUTGOING,
    why: "all outgoing requests go through destinations/wire/http-client.ts",
  },
  {
    package: /^node:(?:net|tls)$/,
    names: ["connect", "createConnection", "Socket", "TLSSocket", "*"],
    // model/ uses it for another purpose.
    only: [...SOCKETS, "model/"],
    why: "every socket is opened by destinations/wire/guarded-connect.ts",
  },
  { package: "node:http2", only: [], why: "all outgoing requests go through destinations/wire/http-client.ts" },
  { package: "node:process", names: ["env", "*"], only: ["config/"], why: "only config/ reads the environment" },
  { package: "@photostructure/sqlite", only: ["store/sqlite/"], why: "only the driver knows its database" },
];

/** The only built-in modules that pure rules may use. */
const PURE_BUILT_INS = ["node:buffer", "node:crypto", "node:util"];
/** Pure functions of a module that is not pure: they only look at text. */
const PURE_NAMES = { "node:net": ["isIP", "isIPv4", "isIPv6"] };

function complaintsAbout(file, source) {
  return importsOf(file, source).flatMap((imported) =>
    imported.specifier.startsWith(".") ? wrongDirection(file, imported) : reserved(file, imported),
  );
}

function wrongDirection(file, { specifier }) {
  const path = posix.normalize(posix.join(posix.dirname(pathOf(file)), specifier));
  const target = nameOf(path);
  if (target === undefined) {
    const isAllowed = OUTSIDE.some(({ from, may }) => covers(from, file) && covers(may, path));
    return isAllowed ? [] : [`imports ${specifier}, which is outside src/`];
  }
  for (const { folder, lists, what } of BEHIND_LISTS) {
    const [own] = folder.exec(target) ?? [];
    if (own !== undefined && !lists.includes(file) && !covers(own, file)) {
      return [`imports ${target}: only ${lists.join(" or ")} knows ${what}`];
    }
  }
  const rule = DIRECTIONS.find(({ from }) => covers(from, file));
  if (rule === undefined)
    return ["has no line in the table of scripts/check-imports.mjs: add one with the allowed imports"];
  if ([rule.from, ...rule.may].some((allowed) => covers(allowed, target))) return [];
  return [`imports ${target}: ${rule.from} may import ${rule.may.join(", ") || "nothing but itself"}`];
}

function reserved(file, { specifier, names }) {
  const complaints = RESERVED.filter(
    (rule) =>
      (typeof rule.package === "string" ? rule.package === specifier : rule.package.test(specifier)) &&
      (rule.names === undefined ? names.length > 0 : names.some((name) => rule.names.includes(name))) &&
      !rule.only.some((allowed) => covers(allowed, file)),
  ).map(({ why }) => `imports ${names.join(", ")} of ${specifier}: ${why}`);
  const isPure = PURE_BUILT_INS.includes(specifier) || isPureImport(specifier, names);
  if (covers("model/", file) && specifier.startsWith("node:") && !isPure) {
    complaints.push(`imports ${specifier}: model/ is pure`);
  }
  return complaints;
}

function isPureImport(specifier, names) {
  const pure = PURE_NAMES[specifier];
  return pure !== undefined && names.every((name) => pure.includes(name));
}

function covers(pattern, file) {
  return pattern.endsWith("/") ? file.startsWith(pattern) : file === pattern;
}

/** `names`: the names imported as values; "*" stands for the whole module. */
function importsOf(file, source) {
  const { module, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
  const isValue = (entry) => !entry.isType;
  const nameOf = ({ kind, name }) => (kind === "Name" ? name : "*");
  const statics = module.staticImports.map(({ moduleRequest, entries }) => ({
    specifier: moduleRequest.value,
    names: entries.length === 0 ? ["*"] : entries.filter(isValue).map((entry) => nameOf(entry.importName)),
  }));
  const exports = module.staticExports
    .flatMap(({ entries }) => entries)
    .filter((entry) => entry.moduleRequest !== null)
    .map((entry) => ({
      specifier: entry.moduleRequest.value,
      names: isValue(entry) ? [nameOf(entry.importName)] : [],
    }));
  const dynamics = module.dynamicImports
    .map(({ moduleRequest: { start, end } }) => source.slice(start, end))
    .filter((text) => /^["'`][^$]*["'`]$/.test(text))
    .map((text) => ({ specifier: text.slice(1, -1), names: ["*"] }));
  return [...statics, ...exports, ...dynamics];
}

/** One complaint for each import that leads back to a file from which it was reached. */
function findCycles(sources) {
  const complaints = [];
  const isDone = new Set();
  const path = [];
  const visit = (file) => {
    const at = path.indexOf(file);
    if (at !== -1) complaints.push(`src/${file} is in a cycle of imports: ${[...path.slice(at), file].join(" → ")}`);
    if (at !== -1 || isDone.has(file)) return;
    path.push(file);
    for (const { specifier } of importsOf(file, sources.get(file))) {
      const target = posix.normalize(posix.join(posix.dirname(file), specifier));
      if (specifier.startsWith(".") && sources.has(target)) visit(target);
    }
    path.pop();
    isDone.add(file);
  };
  for (const file of sources.keys()) visit(file);
  return complaints;
}

/** Files of src/ are named by their path in there, those of plugins by their whole path. */
function nameOf(path) {
  if (path.startsWith("src/")) return path.slice("src/".length);
  return path.startsWith("plugins/") ? path : undefined;
}

function pathOf(name) {
  return name.startsWith("plugins/") ? name : `src/${name}`;
}

function checkTree(root) {
  const files = ["plugins", "src"]
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .sort()
    .map(nameOf);
  const sources = new Map(files.map((file) => [file, readFileSync(join(root, pathOf(file)), "utf8")]));
  const cycles = WITHOUT_CYCLES.flatMap((folder) =>
    findCycles(new Map([...sources].filter(([file]) => covers(folder, file)))),
  );
  const wrong = files.flatMap((file) =>
    complaintsAbout(file, sources.get(file)).map((complaint) => `${pathOf(file)} ${complaint}`),
  );
  return [...wrong, ...cycles];
}

const complaints = checkTree(process.argv[2] ?? dirname(dirname(fileURLToPath(import.meta.url))));
for (const complaint of new Set(complaints)) process.stdout.write(`${complaint}\n`);
process.exitCode = complaints.length === 0 ? 0 : 1;
