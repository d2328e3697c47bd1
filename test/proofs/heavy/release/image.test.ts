import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { parse } from "yaml";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { findTool, type ReleaseTool } from "../../../../scripts/test-tools.mjs";
import { createApiClient } from "../../../support/api-client.ts";
import { findFreePort } from "../../../support/free-port.ts";
import { buildah, provideBaseImage, provideNode } from "../../../support/release/base-image.ts";
import {
  openImage,
  startContainer,
  type Container,
  type ContainerOptions,
  type ImageConfig,
  type OpenImage,
} from "../../../support/release/container.ts";
import { must } from "../../../support/release/must.ts";
import { report } from "../../../support/report.ts";
import { startCommand } from "../../../support/run-command.ts";
import { PROJECT_ROOT } from "../../../support/sample-checkout.ts";
import { openSinkServer } from "../../../support/sink-server.ts";
import { skipWithoutService } from "../../../support/skip.ts";

const KEY = "test-admin-key-0123456789";
const MASTER_KEY = "a-master-key-of-thirty-two-signs-";
const NAME = `localhost/posthorn-of-the-tests-${process.pid}`;
const MEGABYTE = 1_000_000;
const MAX_BYTES = 200 * MEGABYTE;
/** The user of the image; folders of this machine are given to it. */
const USER = 1000;
const APP = "opt/posthorn";

const TOOLS: readonly ReleaseTool[] = ["buildah", "mmdebstrap"];
const missing = [
  ...TOOLS.filter((name) => findTool(name) === undefined),
  ...(process.getuid?.() === 0 ? [] : ["root"]),
];

let base: string;
let image: OpenImage;
let folder: string;
const opened: OpenImage[] = [];
/** All but the base, which is kept for the next run. */
const built: string[] = [];

beforeAll(async () => {
  if (missing.length > 0) return;
  base = await timed("the base", provideBaseImage);
  const args = ["--build-arg", `NODE_IMAGE=${base}`, "--build-arg", "VERSION=0.1.0"];
  await timed("the image", () =>
    buildah("build", "--isolation", "chroot", "--format", "docker", ...args, "--tag", NAME, PROJECT_ROOT),
  );
  built.push(NAME);
  image = await openImage(NAME);
});
afterAll(async () => {
  for (const each of [...opened, image]) await each?.close();
  if (built.length > 0) await buildah("rmi", "--force", ...built);
});
beforeEach((context) => {
  if (missing.length > 0) skipWithoutService(context, missing.join(", "));
  folder = mkdtempSync(join(tmpdir(), "posthorn-image-"));
  context.onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

async function timed<Made>(what: string, make: () => Promise<Made>): Promise<Made> {
  const startedAt = performance.now();
  const made = await make();
  report(`image: ${what} is there after ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
  return made;
}

/** The image with something on top. */
async function derive(name: string, lines: string): Promise<OpenImage> {
  writeFileSync(join(folder, "Containerfile"), `FROM ${NAME}\n${lines}\n`);
  await buildah("build", "--isolation", "chroot", "--format", "docker", "--tag", `${NAME}-${name}`, folder);
  built.unshift(`${NAME}-${name}`);
  const derived = await openImage(`${NAME}-${name}`);
  opened.push(derived);
  return derived;
}

/** What a container of ours must not be. */
function findFaults(config: ImageConfig): string[] {
  const checks: Record<string, boolean> = {
    "runs as root": !/^[1-9]\d*:[1-9]\d*$/.test(config.User),
    "needs a shell to start": /(^|\/)(sh|bash)$/.test([...(config.Entrypoint ?? []), ...config.Cmd][0] ?? "sh"),
    "has no health check": config.Healthcheck?.Test[0] !== "CMD",
    "keeps its data in no volume": !("/data" in (config.Volumes ?? {})),
    "opens another port": !("8080/tcp" in (config.ExposedPorts ?? {})),
    "has no version": config.Labels?.["org.opencontainers.image.version"] !== "0.1.0",
  };
  return Object.keys(checks).filter((name) => checks[name]);
}

function findDevelopmentFiles(rootfs: string): string[] {
  const allowed =
    /^(bin|dist|node_modules)\/|^(package\.json|LICENSE|README\.md|CHANGELOG\.md|posthorn\.example\.yaml|healthcheck\.mjs)$/;
  const packages = /^node_modules\/(vitest|typescript|vite|react|rolldown|tsx|knip|oxlint)\//;
  return listFiles(join(rootfs, APP)).filter(
    (path) => !allowed.test(path) || packages.test(path) || path.endsWith(".map"),
  );
}

function listFiles(root: string): string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

async function sizeOf(rootfs: string): Promise<number> {
  return Number((await must("du", ["-sxb", rootfs])).split("\t")[0]);
}

function makeFolder(name: string, owner = USER): string {
  const path = join(folder, name);
  mkdirSync(path, { recursive: true });
  chownSync(path, owner, owner);
  return path;
}

interface Gateway extends Container {
  api: ReturnType<typeof createApiClient>;
}

async function run(options: Partial<ContainerOptions> & { data?: string } = {}, from = image): Promise<Gateway> {
  const port = await findFreePort();
  const container = startContainer(from, {
    ...options,
    env: {
      POSTHORN_PORT: String(port),
      POSTHORN_ADMIN_KEY: KEY,
      POSTHORN_BALLAST_BYTES: "0",
      POSTHORN_DISK_MIN_FREE_BYTES: "0",
      POSTHORN_ALLOW_PRIVATE_DESTINATIONS: "true",
      POSTHORN_ALLOW_HTTP_DESTINATIONS: "true",
      POSTHORN_MAX_LOOP_LAG_MS: "60000",
      ...options.env,
    },
    volumes: { "/data": { from: options.data ?? makeFolder("data") }, ...options.volumes },
  });
  onTestFinished(async () => {
    container.signal("SIGKILL");
    await container.finished;
  });
  return { ...container, api: createApiClient({ url: () => `http://127.0.0.1:${port}` }, KEY) };
}

async function start(options: Parameters<typeof run>[0] = {}, from = image): Promise<Gateway> {
  const gateway = await run(options, from);
  await gateway.printed("gateway is listening");
  return gateway;
}

describe("the image", () => {
  it("is small, does not run as root, and has no files of development", async () => {
    expect(findFaults(image.config)).toEqual([]);
    expect(findDevelopmentFiles(image.rootfs)).toEqual([]);
    const baseImage = await openImage(base);
    opened.push(baseImage);
    const added = (await sizeOf(image.rootfs)) - (await sizeOf(baseImage.rootfs));
    report(`image: ${(added / MEGABYTE).toFixed(0)} MB beyond its base`);
    expect(added).toBeGreaterThan(0);
    expect(added).toBeLessThan(MAX_BYTES);
  });

  it("is a test that can fail: root, a shell, another port and sources are found", async () => {
    mkdirSync(join(folder, "src"));
    writeFileSync(join(folder, "src/gateway.ts"), "");
    const wrong = await derive(
      "wrong",
      `USER 0\nENTRYPOINT posthorn start\nHEALTHCHECK NONE\nLABEL org.opencontainers.image.version=\nCOPY src /${APP}/src`,
    );
    expect(findFaults(wrong.config)).toEqual([
      "runs as root",
      "needs a shell to start",
      "has no health check",
      "has no version",
    ]);
    expect(findDevelopmentFiles(wrong.rootfs)).toEqual(["src/gateway.ts"]);
    const { exitCode, stderr } = await (await run({}, { ...wrong, config: { ...wrong.config, Cmd: [] } })).finished;
    expect([exitCode, stderr]).toEqual([expect.toSatisfy((code) => code !== 0), expect.stringContaining("sh")]);
  });

  it("takes webhooks read-only and without a shell, ends what is in flight on SIGTERM, and has lost nothing", async () => {
    const sink = await openSinkServer();
    onTestFinished(() => sink.close());
    const down = await findFreePort();
    const config = makeFolder("config");
    const subscription = (name: string, port: number) =>
      `{ name: ${name}, url: "http://127.0.0.1:${port}", events: ["#"] }`;
    writeFileSync(
      join(config, "posthorn.yaml"),
      `subscriptions: [${subscription("app", sink.port)}, ${subscription("away", down)}]\n`,
    );
    const options = { data: makeFolder("data"), volumes: { "/config": { from: config, isReadOnly: true } } };

    const first = await start(options);
    const delivered = await first.api.webhook("orders", '{"order": 12345678901234567890}');
    expect([delivered.status, (await sink.received(1))[0]?.body.toString()]).toEqual([
      202,
      '{"order": 12345678901234567890}',
    ]);
    let answer = (): void => undefined;
    sink.answerWith({ status: 200, after: new Promise<void>((resolve) => (answer = resolve)) });
    const held = await first.api.webhook("orders", '{"order": 2}');
    await sink.received(2);
    first.signal("SIGTERM");
    await first.printed("gateway is stopping");
    answer();
    expect((await first.finished).exitCode).toBe(0);

    sink.answerWith({ status: 200 });
    const second = await start(options);
    const states = async (id: unknown) =>
      (await second.api.event(String(id))).deliveries.map(({ status }) => status).sort();
    expect(await states(held.json["event_id"])).toEqual(["delivered", "pending"]);
    expect(sink.requests).toHaveLength(2);
    const late = await openSinkServer({ port: down });
    onTestFinished(() => late.close());
    const { json } = await second.api.get("/api/v1/deliveries?status=pending");
    for (const { id } of json["data"] as { id: string }[]) await second.api.post(`/api/v1/deliveries/${id}/retry`);
    expect((await late.received(2)).map(({ body }) => body.toString()).sort()).toEqual([
      '{"order": 12345678901234567890}',
      '{"order": 2}',
    ]);
  });

  it("keeps its data in a folder of its own where the volume belongs to root, as Kubernetes mounts it", async () => {
    const data = makeFolder("data");
    chownSync(data, 0, USER);
    chmodSync(data, 0o2775);
    const gateway = await start({ data, env: { POSTHORN_DATA_DIR: "/data/posthorn" } });
    expect((await gateway.api.webhook("orders", "{}")).status).toBe(202);
    expect(statSync(join(data, "posthorn")).mode & 0o777).toBe(0o700);
    expect(gateway.output().stdout).not.toContain("permissions");
  });

  it("has a health check that follows the configuration, and knows when nobody is ready", async () => {
    const [, ...check] = image.config.Healthcheck?.Test ?? [];
    const config = makeFolder("config");
    const port = await findFreePort();
    writeFileSync(join(config, "posthorn.yaml"), `port: ${port}\n`);
    const ready = await start({
      env: { POSTHORN_PORT: "" },
      volumes: { "/config": { from: config, isReadOnly: true } },
    });
    expect((await ready.exec(check)).exitCode).toBe(0);
    // The control: at another port nobody is.
    writeFileSync(join(config, "posthorn.yaml"), `port: ${await findFreePort()}\n`);
    expect((await ready.exec(check)).exitCode).toBe(1);
  });

  it("runs as the compose file of n8n says: the folder of the proxy's design, kept while n8n is away", async () => {
    const example = join(PROJECT_ROOT, "examples/n8n-proxy");
    const { services } = parse(readFileSync(join(example, "compose.yaml"), "utf8")) as {
      services: { posthorn: { working_dir: string; command: string[]; environment: object; volumes: string[] } };
    };
    const { working_dir: WorkingDir, command, environment, volumes } = services.posthorn;
    const app = makeFolder("app");
    cpSync(example, app, { recursive: true });
    await must("chown", ["-R", `${USER}:${USER}`, app]);
    const places = volumes
      .map((volume) => volume.split(":"))
      .filter(([from = ""]) => from.startsWith("."))
      .map(([from = "", to = "", mode]) => [to, { from: join(app, from), isReadOnly: mode === "ro" }] as const);
    const tokens = ["ORDERS_TOKEN", "PAYMENTS_TOKEN", "USERS_TOKEN"].map((name) => [name, name.padEnd(48, "x")]);
    const { POSTHORN_PORT: _, ...given } = environment as Record<string, string>;
    const env: Record<string, string> = {
      ...given,
      ...(Object.fromEntries(tokens) as Record<string, string>),
      // In place of the network of the file, in which n8n has a name.
      N8N_URL: "http://127.0.0.1:1",
      POSTHORN_ALLOW_PRIVATE_DESTINATIONS: "127.0.0.0/8",
      N8N_SECRET: `whsec_${Buffer.alloc(32, 7).toString("base64")}`,
    };
    const config = { ...image.config, WorkingDir };
    const gateway = await start({ command, env, volumes: Object.fromEntries(places) }, { ...image, config });
    const order = '{"id":"ord-1","customer":{"id":"cus-7"},"lines":[{"sku":"A-100","quantity":2}]}';
    const headers = { "x-webhook-token": env["ORDERS_TOKEN"] ?? "" };
    const { status, json } = await gateway.api.webhook("orders", order, headers);
    expect([status, json["status"]]).toEqual([202, "queued"]);
    expect((await gateway.api.webhook("orders", "{}", headers)).status).toBe(422);
    expect(readFileSync(join(app, "logs/posthorn.log"), "utf8")).toContain("gateway is listening");
    const schema = { body: '{"type":"object","required":["phone"]}', headers: { "content-type": "application/json" } };
    expect((await gateway.api.request("PUT", "/validations/orders", schema)).status).toBe(200);
    expect(readFileSync(join(app, "validations/orders.json"), "utf8")).toContain("phone");
  });

  it("has the packages of Azure and Smartsheet, and the command by its name", async () => {
    const gateway = await start();
    const names = [
      "@azure/service-bus",
      "@azure/storage-queue",
      "@azure/storage-blob",
      "@azure/identity",
      "smartsheet",
    ];
    const load = `const { resolve } = require("node:module").createRequire("/${APP}/bin/posthorn.js");
      process.argv.slice(1).forEach((name) => import(resolve(name)));`;
    expect(await gateway.exec(["node", "-e", load, ...names])).toMatchObject({ exitCode: 0, stderr: "" });
    expect(existsSync(join(image.rootfs, APP, "bin/posthorn.js"))).toBe(true);
    expect((await must("readlink", [join(image.rootfs, "usr/local/bin/posthorn")])).trim()).toBe(
      `/${APP}/bin/posthorn.js`,
    );
    expect(await gateway.exec([...image.config.Entrypoint, "status"])).toMatchObject({ exitCode: 0 });
  });
});

describe("what goes wrong in a container", () => {
  async function endOf(options: Parameters<typeof run>[0]): Promise<{ exitCode: number | null; lines: string[] }> {
    const { exitCode, stderr } = await (await run(options)).finished;
    return { exitCode, lines: stderr.trim().split("\n") };
  }

  /** One line, and by default the exit code of a configuration that does not work. */
  const oneLine = (message: RegExp, exitCode = 3) => ({ exitCode, lines: [expect.stringMatching(message)] });

  it("a volume that cannot be written", async () => {
    expect(await endOf({ data: makeFolder("data", 0) })).toEqual(
      oneLine(/data directory \/data cannot be written .*write permission/),
    );
  });

  it("two gateways on one volume", async () => {
    const data = makeFolder("data");
    await start({ data });
    expect(await endOf({ data })).toEqual(oneLine(/Another gateway is running on the data directory \/data/));
  });

  it("the data of a newer release", async () => {
    const data = makeFolder("data");
    const gateway = await start({ data });
    gateway.signal("SIGTERM");
    await gateway.finished;
    const db = new DatabaseSync(join(data, "posthorn.db"));
    db.exec("insert into migrations (version, name) values (9999, '9999_later.sql')");
    db.close();
    expect(await endOf({ data })).toEqual(oneLine(/written by a newer release \(schema 9999;.*Use that release/, 1));
  });

  it("another master key", async () => {
    const data = makeFolder("data");
    const gateway = await start({ data, env: { POSTHORN_MASTER_KEY: MASTER_KEY } });
    await gateway.api.subscribe({ name: "app", url: "http://127.0.0.1:1", events: ["#"] });
    gateway.signal("SIGTERM");
    await gateway.finished;
    expect(await endOf({ data, env: { POSTHORN_MASTER_KEY: MASTER_KEY.toUpperCase() } })).toEqual(
      oneLine(/encrypted with another master key\. Start with the POSTHORN_MASTER_KEY, or/, 1),
    );
  });

  it("a configuration that is wrong, and a variable that nobody knows", async () => {
    const config = makeFolder("config");
    writeFileSync(join(config, "posthorn.yaml"), "prot: 8080\n");
    const volumes = { "/config": { from: config, isReadOnly: true } };
    expect(await endOf({ volumes })).toEqual(oneLine(/posthorn\.yaml:1:1 prot: unknown key; did you mean port\?/));
    const gateway = await start({ env: { POSTHORN_PROT: "8080" } });
    expect(gateway.output().stdout).toMatch(/POSTHORN_PROT: unknown variable, ignored/);
  });
});

describe("on arm64", () => {
  const NEEDED: readonly ReleaseTool[] = [
    "qemu-aarch64-static",
    "libc6 for arm64",
    "libstdc++6 for arm64",
    "libatomic1 for arm64",
  ];

  it("the files of the image run as they are: a webhook in, delivered", async (context) => {
    const qemu = findTool("qemu-aarch64-static");
    const absent = NEEDED.filter((name) => findTool(name) === undefined);
    if (qemu === undefined || absent.length > 0) return skipWithoutService(context, absent.join(", "));
    const sink = await openSinkServer();
    onTestFinished(() => sink.close());
    const node = await provideNode("arm64");
    // The emulator would look for a path of the mounted file system in its own folder of libraries first.
    cpSync(join(image.rootfs, APP), join(folder, "app"), { recursive: true, verbatimSymlinks: true });
    const port = await findFreePort();
    const startedAt = performance.now();
    const args = ["-L", "/usr/aarch64-linux-gnu", node, join(folder, "app/bin/posthorn.js"), "start"];
    const gateway = startCommand(qemu, args, folder, {
      POSTHORN_PORT: String(port),
      POSTHORN_DATA_DIR: makeFolder("arm64"),
      POSTHORN_ADMIN_KEY: KEY,
      POSTHORN_BALLAST_BYTES: "0",
      POSTHORN_ALLOW_PRIVATE_DESTINATIONS: "true",
      POSTHORN_ALLOW_HTTP_DESTINATIONS: "true",
      POSTHORN_MAX_LOOP_LAG_MS: "60000",
    });
    onTestFinished(async () => {
      gateway.child.kill("SIGKILL");
      await gateway.finished.catch(() => undefined);
    });
    await gateway.printed("gateway is listening");
    report(`image: on arm64, emulated, ready after ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
    const api = createApiClient({ url: () => `http://127.0.0.1:${port}` }, KEY);
    await api.subscribe({ name: "app", url: sink.url, events: ["#"] });
    expect((await api.webhook("orders", '{"order": 1}')).status).toBe(202);
    expect((await sink.received(1))[0]?.body.toString()).toBe('{"order": 1}');
    gateway.child.kill("SIGTERM");
    expect((await gateway.finished).exitCode).toBe(0);
  });
});
