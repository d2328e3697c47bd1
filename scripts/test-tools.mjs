// What tests need beside npm's packages: looked for on this machine, and installed in one step where that may be done.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statfsSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { ScriptFailure } from "./run.mjs";

/** The JSON Schema Test Suite: Debian has it in a package for Perl, of which only the files are wanted. */
const SUITE_PACKAGE = "libtest-json-schema-acceptance-perl";
const SUITE_INSIDE = "usr/share/perl5/auto/share/dist/Test-JSON-Schema-Acceptance";
/** What takes minutes to get or to make stays here. */
export const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "posthorn");
const SUITE_CACHE = join(CACHE, SUITE_PACKAGE);
const SUITE_FOLDERS = [join("/", SUITE_INSIDE), join(SUITE_CACHE, SUITE_INSIDE)];

/**
 * A tool is there when a variable names one, or when one of its files or commands is found, and in PATH all commands
 * that it needs.
 */
const TOOLS = [
  {
    name: "Chromium",
    package: "chromium-headless-shell",
    variable: "CHROMIUM",
    // The first draws no windows, and takes less than half of the time for the same pages.
    files: ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"],
  },
  {
    name: "RabbitMQ",
    package: "rabbitmq-server",
    variable: "POSTHORN_TEST_AMQP_URL",
    // Debian's wrapper in PATH insists on root or the user rabbitmq; the server itself runs as anybody.
    files: ["/usr/lib/rabbitmq/bin/rabbitmq-server"],
    needs: ["epmd", "erl"],
  },
  ...["curl", "fish", "strace", "tmux", "zsh"].map((name) => ({ name, package: name, commands: [name] })),
  { name: "script", package: "bsdutils", commands: ["script"] },
  { name: "systemd-analyze", package: "systemd", commands: ["systemd-analyze"] },
  {
    name: "JSON Schema Test Suite",
    package: SUITE_PACKAGE,
    variable: "JSON_SCHEMA_TEST_SUITE",
    files: SUITE_FOLDERS,
    unpackTo: SUITE_CACHE,
  },
];

/** The languages of docs/start/verify-a-delivery.md. */
const LANGUAGES = [
  { name: "Go", package: "golang-go", commands: ["go"] },
  { name: "Java", package: "default-jdk-headless", commands: ["javac"] },
  { name: "PHP", package: "php-cli", commands: ["php"] },
  { name: "Python", package: "python3", commands: ["python3"] },
  { name: "Ruby", package: "ruby", commands: ["ruby"] },
];

/** The schemas of one version of Kubernetes, from PyPI: kubeconform's own are fetched one by one from GitHub. */
const SCHEMAS = "kubernetes-validate==1.37.0";
const SCHEMAS_INSIDE = "kubernetes_validate/kubernetes-json-schema/v1.37.0-local-strict";
const SCHEMAS_CACHE = join(CACHE, "tools", SCHEMAS);

/** What shows that the image, the chart and the workflows of a release work. */
const RELEASE = [
  ...["buildah", "mmdebstrap"].map((name) => ({ name, package: name, commands: [name] })),
  { name: "qemu-aarch64-static", package: "qemu-user-static", commands: ["qemu-aarch64-static"] },
  ...["libc6", "libstdc++6", "libatomic1"].map((name) => ({
    name: `${name} for arm64`,
    package: `${name}-arm64-cross`,
    files: [
      `/usr/aarch64-linux-gnu/lib/${{ libc6: "libc.so.6", "libstdc++6": "libstdc++.so.6" }[name] ?? "libatomic.so.1"}`,
    ],
  })),
  goTool("actionlint", "github.com/rhysd/actionlint/cmd/actionlint@v1.7.7"),
  goTool("kubeconform", "github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0"),
  goTool("helm", "helm.sh/helm/v3/cmd/helm@v3.17.0"),
  { name: "Kubernetes schemas", wheel: SCHEMAS, unpackTo: SCHEMAS_CACHE, files: [join(SCHEMAS_CACHE, SCHEMAS_INSIDE)] },
];

/** Compiled once, where the machine has none; another version has a folder of its own. */
function goTool(name, module) {
  const folder = join(CACHE, "tools", module.replaceAll("/", "+"));
  return { name, module, installTo: folder, files: [join(folder, name)], commands: [name] };
}

/** Without a network the answer is no, and not a wait. */
const IN_TIME = ["-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=15", "-o", "APT::Update::Error-Mode=any"];

/** What takes longer does not get anywhere. */
const UPDATE_MS = 60_000;
const INSTALL_MS = 600_000;
/** helm alone has a thousand packages to compile: 4 minutes on two idle cores. */
const COMPILE_MS = 1_500_000;

/** Less than this, and tests fail in ways that say nothing of the cause; so does what is installed and built before. */
const NEEDED_BYTES = { temporary: 2 * 1024 ** 3, checkout: 1024 ** 3 };

/** Where a tool is, or undefined: the variable that names it, one of its files, or one of its commands. */
export function findTool(name) {
  return locate(toolOf(name));
}

function toolOf(name) {
  const tool = [...TOOLS, ...LANGUAGES, ...RELEASE].find((one) => one.name === name);
  if (tool === undefined) throw new Error(`${name} is not in the list of tools (scripts/test-tools.mjs)`);
  return tool;
}

/** The same, but never one that a variable names: for services that a test stops, kills or empties. */
export function findInstalled(name) {
  return locate({ ...toolOf(name), variable: undefined });
}

/** Installs what is missing as root; says in one line what was done, or what will be skipped and how to get it. */
export function provideTools({ languages, release = false }) {
  const wanted = [...TOOLS, ...(languages ? LANGUAGES : []), ...(release ? RELEASE : [])];
  const missing = wanted.filter((tool) => locate(tool) === undefined);
  if (missing.length === 0) return;
  const startedAt = performance.now();
  const failure = mayInstall() ? installAll(missing) : undefined;
  const installed = missing.filter((tool) => locate(tool) !== undefined);
  const left = missing.filter((tool) => !installed.includes(tool));
  if (installed.length > 0) {
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
    say(`installed for the tests, in ${seconds} s: ${packagesOf(installed)} (POSTHORN_TEST_INSTALL=0 turns this off)`);
  }
  if (left.length === 0) return;
  if (failure !== undefined) {
    say(
      `installing ${packagesOf(left)} was tried and failed (${failure}); ` +
        "is there a network? POSTHORN_TEST_INSTALL=0 keeps the tests from trying",
    );
  }
  const names = left.map(({ name }) => name).join(", ");
  if (isCi()) throw new ScriptFailure(`missing here, where CI=true: ${names}; install ${packagesOf(left)}`);
  say(`tests that need ${names} are skipped; to run them: ${waysTo(left).join("; ")}`);
}

/** Stops with one line where the folder of temporary files or the checkout has too little room. */
export function checkDisks(checkout, needed = NEEDED_BYTES) {
  checkDisk(tmpdir(), needed.temporary, "make room, or set TMPDIR");
  checkDisk(checkout, needed.checkout, "make room");
}

function checkDisk(folder, needed, advice) {
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  if (free >= needed) return;
  const megabytes = (bytes) => `${Math.round(bytes / 1024 ** 2)} MB`;
  throw new ScriptFailure(`${folder} has ${megabytes(free)} free, and the tests need ${megabytes(needed)}: ${advice}`);
}

export function isCi() {
  return process.env.CI === "true" || process.env.CI === "1";
}

function locate({ variable, files = [], commands = [], needs = [] }) {
  const named = variable === undefined ? undefined : process.env[variable];
  if (named !== undefined && named !== "") return named;
  if (needs.some((command) => findCommand(command) === undefined)) return undefined;
  return files.find(existsSync) ?? commands.map(findCommand).find((path) => path !== undefined);
}

function findCommand(name) {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.map((folder) => join(folder, name)).find(existsSync);
}

function mayInstall() {
  if (process.env.POSTHORN_TEST_INSTALL === "0" || process.getuid?.() !== 0) return false;
  return locate({ commands: ["apt-get"] }) !== undefined;
}

/** What failed, if something did. */
function installAll(tools) {
  say(`installing ${packagesOf(tools)} …`);
  const ofDebian = tools.filter((tool) => tool.package !== undefined);
  const failures = ofDebian.length === 0 ? [] : installPackages(ofDebian);
  for (const { module, installTo, wheel, unpackTo } of tools) {
    if (module !== undefined) failures.push(goInstall(module, installTo, performance.now() + COMPILE_MS));
    if (wheel !== undefined) failures.push(unpackWheel(wheel, unpackTo, performance.now() + INSTALL_MS));
  }
  return failures.find((failure) => failure !== undefined);
}

function installPackages(tools) {
  // Without lists of packages nothing can be found; with old ones a file may be gone.
  const failedUpdate = runUntil(performance.now() + UPDATE_MS, "apt-get", [...IN_TIME, "update"]);
  if (failedUpdate !== undefined) return [failedUpdate];
  const deadline = performance.now() + INSTALL_MS;
  const whole = tools.filter(({ unpackTo }) => unpackTo === undefined).map((tool) => tool.package);
  const failures = [aptInstall(whole, deadline)];
  // One that cannot be had must not keep the others away.
  if (failures[0] !== undefined) failures.push(...whole.map((name) => aptInstall([name], deadline)));
  for (const tool of tools)
    if (tool.unpackTo !== undefined) {
      failures.push(unpack(tool.package, tool.unpackTo, deadline));
    }
  return failures;
}

function aptInstall(names, deadline) {
  const args = [...IN_TIME, "install", "-y", "--no-install-recommends", ...names];
  return names.length === 0 ? undefined : runUntil(deadline, "apt-get", args);
}

/** Puts the files of a package into a folder, without what it depends on. */
function unpack(name, folder, deadline) {
  return fillFolder(folder, (work, files) => {
    const failedDownload = runUntil(deadline, "apt-get", ["download", name], work);
    if (failedDownload !== undefined) return failedDownload;
    const [file = ""] = readdirSync(work).filter((each) => each.endsWith(".deb"));
    return runUntil(deadline, "dpkg-deb", ["-x", join(work, file), files]);
  });
}

/** The same with a package of PyPI, which is a zip file. */
function unpackWheel(name, folder, deadline) {
  return fillFolder(folder, (work, files) => {
    const download = ["-m", "pip", "download", "--quiet", "--no-deps", "--dest", work, name];
    const failedDownload = runUntil(deadline, "python3", download);
    if (failedDownload !== undefined) return failedDownload;
    const [file = ""] = readdirSync(work).filter((each) => each.endsWith(".whl"));
    return runUntil(deadline, "python3", ["-m", "zipfile", "-e", join(work, file), files]);
  });
}

function goInstall(module, folder, deadline) {
  return fillFolder(folder, (work, files) =>
    runUntil(deadline, "go", ["install", "-ldflags=-s -w", module], work, { GOBIN: files, GOFLAGS: "-buildvcs=false" }),
  );
}

/** Whole or not at all. */
function fillFolder(folder, fill) {
  mkdirSync(dirname(folder), { recursive: true });
  const work = mkdtempSync(`${folder}-`);
  try {
    const failure = fill(work, join(work, "files"));
    if (failure === undefined) renameSync(join(work, "files"), folder);
    return failure;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** How it failed, if it did. */
function runUntil(deadline, command, args, cwd, variables) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", ...variables };
  const timeout = Math.max(1, Math.round(deadline - performance.now()));
  const { status, error } = spawnSync(command, args, { cwd, env, stdio: "ignore", timeout });
  if (status === 0) return undefined;
  const what = [command, ...args.filter((arg) => ["update", "install", "download"].includes(arg))].join(" ");
  if (error?.code === "ETIMEDOUT") return `${what}: took too long`;
  return `${what}: ${error?.code ?? `exit code ${status}`}`;
}

function waysTo(tools) {
  const ofDebian = tools.filter((tool) => tool.package !== undefined);
  return [
    ...(ofDebian.length > 0 ? [`apt-get install ${packagesOf(ofDebian)}, as root`] : []),
    ...tools.flatMap(({ module, installTo }) =>
      module === undefined ? [] : [`GOBIN=${installTo} go install ${module}`],
    ),
    ...tools.flatMap(({ wheel, unpackTo }) => (wheel === undefined ? [] : [`unpack ${wheel} of PyPI to ${unpackTo}`])),
  ];
}

function packagesOf(tools) {
  return tools.map((tool) => tool.package ?? tool.module ?? tool.wheel).join(" ");
}

function say(line) {
  process.stdout.write(`posthorn: ${line}\n`);
}
