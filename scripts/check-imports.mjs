// The rules for imports under src/, in ONE table. A reader who follows an event from receive/ to deliver/ moves forward
// only; this check keeps it so. Usage: node scripts/check-imports.mjs [root]
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "oxc-parser";

const STORE = ["store/store.ts", "store/port/"];
const TEMPLATES = "templates/templates.ts";
const PORTS = [...STORE, "store/read-all.ts", "deliver/senders/sender.ts"];

/**
 * The first line whose `from` fits a file decides which files of src/ it may import (its own `from` always).
 * A trailing slash means everything below; a path with `.ts` means that file; "" means anything.
 */
const DIRECTIONS = [
  { from: "domain/", may: [] },
  { from: "config/", may: ["domain/", "deliver/senders/", "registry/group-rules.ts", "plugins/plugins.ts"] },
  { from: "telemetry/", may: ["domain/"] },
  { from: "store/store.ts", may: ["domain/", "store/port/"] },
  { from: "store/port/", may: ["domain/", "store/store.ts"] },
  { from: "store/read-all.ts", may: ["store/port/"] },
  { from: "store/open.ts", may: ["domain/", "store/"] },
  { from: "store/commit/", may: ["domain/", "store/store.ts", "store/port/"] },
  { from: "store/sqlite/", may: ["domain/", "store/store.ts", "store/port/", "store/commit/"] },
  { from: "store/postgres/", may: ["domain/", "store/store.ts", "store/port/", "store/commit/"] },
  { from: "brokers/", may: ["domain/"] },
  { from: "threads/", may: ["domain/"] },
  { from: "templates/", may: ["domain/", "threads/"] },
  { from: "deliver/senders/sender.ts", may: ["domain/", "deliver/senders/services.ts", TEMPLATES] },
  {
    from: "deliver/senders/",
    may: [
      "domain/",
      "deliver/wire/http-client.ts",
      "deliver/wire/connection-terms.ts",
      "deliver/wire/waiting-line.ts",
      "brokers/",
      TEMPLATES,
    ],
  },
  { from: "receive/", may: ["domain/", "route/", "brokers/", "threads/", ...STORE] },
  { from: "route/", may: ["domain/", "telemetry/", ...STORE] },
  { from: "deliver/", may: ["domain/", "telemetry/", ...PORTS] },
  { from: "registry/", may: ["domain/", "telemetry/", "deliver/senders/", TEMPLATES, ...STORE] },
  {
    from: "operate/",
    may: [
      "domain/",
      "telemetry/",
      "route/",
      ...["fallback", "mode", "pace", "scheduler", "subscription-state", "suspensions", "target", "target-health"].map(
        (name) => `deliver/${name}.ts`,
      ),
      "registry/",
      TEMPLATES,
      ...STORE,
      "store/read-all.ts",
    ],
  },
  { from: "plugins/plugins.ts", may: ["plugins/"] },
  { from: "plugins/", may: ["domain/", "telemetry/", "receive/", "registry/", "operate/", "http/", "cli/"] },
  {
    from: "http/",
    may: [
      "domain/",
      "telemetry/",
      "receive/",
      "route/",
      "deliver/",
      "registry/",
      "operate/",
      "plugins/plugins.ts",
      "brokers/parked/",
      TEMPLATES,
      ...PORTS,
    ],
  },
  // The only command that runs a gateway; the others send requests to one, or read its files.
  {
    from: "cli/start.ts",
    may: [
      "cli/",
      "config/",
      "domain/errors.ts",
      "telemetry/activity.ts",
      "telemetry/descriptor-output.ts",
      "telemetry/logger.ts",
      "registry/key-files.ts",
      "store/sqlite/thread-starts.ts",
      "gateway.ts",
    ],
  },
  {
    from: "cli/trigger/",
    may: ["cli/", "config/", "domain/", "plugins/plugins.ts", "receive/sources/samples/"],
  },
  {
    from: "cli/apply/",
    may: ["cli/", "config/", "domain/", "telemetry/terminal-text.ts", "deliver/senders/subscription-schema.ts"],
  },
  {
    from: "cli/resources/",
    may: ["cli/", "domain/", "deliver/senders/subscription-schema.ts", "registry/api-key.ts"],
  },
  ...["cli/audit/", "cli/backup/", "cli/backup.ts", "cli/restore.ts", "cli/create-key.ts"].map((from) => ({
    from,
    may: [
      "cli/",
      "config/",
      "domain/",
      "registry/secret-box.ts",
      "registry/key-files.ts",
      "registry/api-key.ts",
      "registry/authors.ts",
      "registry/describe-change.ts",
      "store/port/",
      "store/sqlite/",
    ],
  })),
  {
    from: "cli/doctor/",
    may: [
      "cli/",
      "brokers/",
      "config/",
      "deliver/wire/",
      "domain/",
      "plugins/plugins.ts",
      "receive/sources/",
      "registry/secret-box.ts",
      "registry/sources/",
      "store/sqlite/",
      "telemetry/terminal-text.ts",
    ],
  },
  // Queues are created and compared without a gateway.
  {
    from: "cli/queue/",
    may: ["cli/", "config/", "domain/", "brokers/", "deliver/wire/address-guard.ts", "deliver/wire/http-client.ts"],
  },
  { from: "cli/commands.ts", may: ["cli/", "plugins/plugins.ts"] },
  { from: "cli/", may: ["config/", "domain/", "telemetry/activity.ts", "telemetry/terminal-text.ts"] },
  ...["gateway.ts", "gateway/"].map((from) => ({
    from,
    may: [
      "gateway/",
      "domain/",
      "config/",
      "telemetry/",
      "store/",
      "brokers/",
      "templates/",
      "receive/",
      "route/",
      "deliver/",
      "registry/",
      "operate/",
      "plugins/",
      "http/",
    ],
  })),
];

/** Only the folder itself and its list may import the files of one kind. */
const BEHIND_LISTS = [
  { folder: /^deliver\/senders\/[^/]+\//, list: "deliver/senders/kinds.ts", what: "a kind of destination" },
  { folder: /^plugins\/[^/]+\//, list: "plugins/plugins.ts", what: "a plugin" },
];

/** Folders without a cycle of imports, types included: each file can be read after those that it imports. */
const WITHOUT_CYCLES = [{ folder: "deliver/", but: ["deliver/senders/", "deliver/wire/"] }];

const OUTGOING = ["cli/api-client.ts", "cli/listen/local-server.ts"];
// The last one connects only to gateways that a command has started itself, on this machine.
const SOCKETS = ["deliver/wire/guarded-connect.ts", "deliver/wire/proxy-tunnel.ts", "cli/trial/load-connection.ts"];
const SERVERS = ["http/", "cli/sink.ts", "cli/trial/"];

/** Packages, and names in packages, that only some files may import. Types are free. */
const RESERVED = [
  { package: /^nodemailer/, only: ["deliver/senders/email/"], why: "only the pool of the kind email sends e-mail" },
  { package: "undici", only: OUTGOING, why: "all outgoing requests go through deliver/wire/http-client.ts" },
  { package: /^node:https?$/, names: ["createServer", "Server"], only: SERVERS, why: "only http/ and the sink listen" },
  {
    package: /^node:https?$/,
    names: ["request", "get", "Agent", "globalAgent", "ClientRequest", "*"],
    only: OUTGOING,
    why: "all outgoing requests go through deliver/wire/http-client.ts",
  },
  {
    package: /^node:(?:net|tls)$/,
    names: ["connect", "createConnection", "Socket", "TLSSocket", "*"],
    // domain/ uses it for another purpose.
    only: [...SOCKETS, "domain/"],
    why: "every socket is opened by deliver/wire/guarded-connect.ts",
  },
  { package: "node:http2", only: [], why: "all outgoing requests go through deliver/wire/http-client.ts" },
  { package: "node:process", names: ["env", "*"], only: ["config/"], why: "only config/ reads the environment" },
  { package: "@photostructure/sqlite", only: ["store/sqlite/"], why: "only the driver knows its database" },
  { package: "pg", only: ["store/postgres/"], why: "only the driver knows its database" },
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
  const target = posix.normalize(posix.join(posix.dirname(file), specifier));
  if (target.startsWith("..")) return [`imports ${specifier}, which is outside src/`];
  for (const { folder, list, what } of BEHIND_LISTS) {
    const [own] = folder.exec(target) ?? [];
    if (own !== undefined && file !== list && !covers(own, file)) {
      return [`imports ${target}: only ${list} knows ${what}`];
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
  if (covers("domain/", file) && specifier.startsWith("node:") && !isPure) {
    complaints.push(`imports ${specifier}: domain/ is pure`);
  }
  return complaints;
}

function isPureImport(specifier, names) {
  const pure = PURE_NAMES[specifier];
  return pure !== undefined && names.every((name) => pure.includes(name));
}

function covers(pattern, file) {
  return pattern === "" || (pattern.endsWith("/") ? file.startsWith(pattern) : file === pattern);
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

function checkTree(root) {
  const src = join(root, "src");
  const files = readdirSync(src, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => relative(src, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .sort();
  const sources = new Map(files.map((file) => [file, readFileSync(join(src, file), "utf8")]));
  const cycles = WITHOUT_CYCLES.flatMap(({ folder, but }) => {
    const isIn = ([file]) => covers(folder, file) && !but.some((other) => covers(other, file));
    return findCycles(new Map([...sources].filter(isIn)));
  });
  const wrong = files.flatMap((file) =>
    complaintsAbout(file, sources.get(file)).map((complaint) => `src/${file} ${complaint}`),
  );
  return [...wrong, ...cycles];
}

const complaints = checkTree(process.argv[2] ?? dirname(dirname(fileURLToPath(import.meta.url))));
for (const complaint of new Set(complaints)) process.stdout.write(`${complaint}\n`);
process.exitCode = complaints.length === 0 ? 0 : 1;
