import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { loadConfig } from "../../../src/config/load.ts";
import { ClientSettings } from "../../../src/config/schema.ts";
import { SETTINGS } from "../../../src/config/settings-tree.ts";
import { findCommandFault } from "../../support/docs/check-command.ts";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";

const read = (path: string) => readFileSync(join(PROJECT_ROOT, path), "utf8");
const CHART = "deploy/helm/posthorn";
const COMPOSE = [
  "compose.yaml",
  "examples/n8n-proxy/compose.yaml",
  "examples/smart-dairy/compose.yaml",
  "deploy/compose/service-bus-emulator.yaml",
];
const UNITS = ["deploy/systemd/posthorn.service", "deploy/systemd/posthorn.socket"];
const TEMPLATES = readdirSync(join(PROJECT_ROOT, CHART, "templates")).map((name) => `${CHART}/templates/${name}`);
const DOCKERFILE = read("Dockerfile");

/** What a gateway without a configuration has. */
const folder = mkdtempSync(join(tmpdir(), "posthorn-deploy-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const { config: usual } = loadConfig({ cwd: folder, env: {} });

const VARIABLES = new Set(
  [...SETTINGS.map(({ schema }) => schema), ...Object.values(ClientSettings.properties)].flatMap((schema) => {
    const { env, secret } = schema as { env?: string; secret?: boolean };
    return env === undefined ? [] : secret === true ? [env, `${env}_FILE`] : [env];
  }),
);
/** Not settings of the gateway: the name of the image, and a variable of the tests. */
const OF_OTHERS = ["POSTHORN_IMAGE", "POSTHORN_TEST_SERVICEBUS_CONNECTION_STRING", "POSTHORN_TEST_INSTALL"];

function findUnknownVariables(text: string): string[] {
  const names = text.match(/\b(POSTHORN|AZURE|SMARTSHEET|VALIDATION)_[A-Z_]+\b/g) ?? [];
  return [...new Set(names)].filter((name) => !VARIABLES.has(name) && !OF_OTHERS.includes(name));
}

interface Service {
  image: string;
  command?: string[];
  ports?: string[];
  volumes?: string[];
  environment?: Record<string, string>;
  read_only?: boolean;
  stop_grace_period?: string;
}
interface ComposeFile {
  services: Record<string, Service>;
  volumes?: Record<string, null>;
}

const isGateway = ({ image }: Service) => image.includes("POSTHORN_IMAGE");
const composed = COMPOSE.map((path) => ({ path, file: parse(read(path), { merge: true }) as ComposeFile }));
const gateways = composed.flatMap(({ path, file }) =>
  Object.values(file.services)
    .filter(isGateway)
    .map((service) => ({ path, service })),
);

/** What a service names that is not there: folders of this checkout, volumes of the file. */
function findMissingSources(path: string, { volumes = [] }: Service, named: object = {}): string[] {
  return volumes
    .map((volume) => volume.split(":")[0] ?? "")
    .filter((from) => (from.startsWith(".") ? !existsSync(join(PROJECT_ROOT, dirname(path), from)) : !(from in named)));
}

describe("variables in files of deploy", () => {
  it("are those of the configuration reference", () => {
    for (const path of ["Dockerfile", ...COMPOSE, ...UNITS, ...TEMPLATES]) {
      expect([path, findUnknownVariables(read(path))]).toEqual([path, []]);
    }
    const reference = read("docs/reference/configuration.md");
    const named = [DOCKERFILE, ...COMPOSE.map(read), ...TEMPLATES.map(read)].join("\n");
    const settings = [...VARIABLES].filter((name) => named.includes(`${name}:`) || named.includes(`${name}=`));
    expect(settings.length).toBeGreaterThan(5);
    expect(settings.filter((name) => !reference.includes(`\`${name}\``))).toEqual([]);
  });

  it("are a test that can fail: one that nobody knows is found", () => {
    expect(findUnknownVariables("POSTHORN_DATADIR=/data POSTHORN_PORT=1")).toEqual(["POSTHORN_DATADIR"]);
  });
});

describe("the image", () => {
  const env = Object.fromEntries(
    [...DOCKERFILE.matchAll(/^(?:ENV|\s) ?(POSTHORN_\w+)=(\S+)/gm)].map(([, name = "", value = ""]) => [name, value]),
  );

  it("opens the usual port, and keeps its data where it says", () => {
    expect(DOCKERFILE).toMatch(new RegExp(`^EXPOSE ${usual.port}$`, "m"));
    expect(DOCKERFILE).toMatch(new RegExp(`^VOLUME ${env["POSTHORN_DATA_DIR"]}$`, "m"));
    expect(env["POSTHORN_HOST"]).toBe("0.0.0.0");
  });

  it("starts and checks itself without a shell, as an ordinary user", async () => {
    const command = JSON.parse(/^CMD (.*)$/m.exec(DOCKERFILE)?.[1] ?? "") as string[];
    expect(await findCommandFault(command, true)).toBeUndefined();
    expect(DOCKERFILE).toMatch(/^ENTRYPOINT \["node", "\/opt\/posthorn\/bin\/posthorn\.js"\]$/m);
    expect(DOCKERFILE).toMatch(/^HEALTHCHECK .*CMD \["node", "\/opt\/posthorn\/healthcheck\.mjs"\]$/m);
    expect(DOCKERFILE).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
  });

  it("is made of what is there: nothing that is copied, or let through to the builder, is missing", () => {
    const context: string[] = read(".dockerignore").match(/^!.*$/gm) ?? [];
    expect(context.length).toBeGreaterThan(10);
    expect(context.filter((line) => !existsSync(join(PROJECT_ROOT, line.slice(1))))).toEqual([]);
    const { files } = JSON.parse(read("package.json")) as { files: string[] };
    const ignored = files.filter((name) => !/^!|^dist$|^docs$|^deploy/.test(name) && !context.includes(`!${name}`));
    expect(ignored).toEqual([]);
  });
});

describe("compose files", () => {
  it("name only folders and volumes that are there, but for the one that a user fills", () => {
    const missing = composed.flatMap(({ path, file }) =>
      Object.values(file.services).flatMap((service) =>
        findMissingSources(path, service, file.volumes).map((from) => `${path}: ${from}`),
      ),
    );
    expect(missing).toEqual(["compose.yaml: ./config"]);
    expect(findMissingSources("compose.yaml", { image: "", volumes: ["./bni:/bin", "dta:/data"] })).toEqual([
      "./bni",
      "dta",
    ]);
  });

  it("run the gateway read-only, on the usual port, with a volume for its data, and let it end in peace", async () => {
    expect(gateways).toHaveLength(4);
    for (const { path, service } of gateways) {
      const { command = ["start"], environment = {}, volumes = [], ports = [] } = service;
      expect([path, await findCommandFault(command, true)]).toEqual([path, undefined]);
      expect(environment["POSTHORN_PORT"]).toBe(String(usual.port));
      expect(volumes).toContain(`data:${environment["POSTHORN_DATA_DIR"]}`);
      if (command[0] !== "start") continue;
      expect(ports.every((port) => port.startsWith("127.0.0.1:") && port.endsWith(`:${usual.port}`))).toBe(true);
      expect(service.read_only).toBe(true);
      expect(Number.parseInt(service.stop_grace_period ?? "0", 10)).toBeGreaterThan(usual.limits.shutdownTimeoutS);
    }
  });

  it("mount what the configurations of the examples read and write, in the folders of the proxy's design", () => {
    const n8n = composed.find(({ path }) => path.includes("n8n"))?.file.services["posthorn"];
    const tokens = ["ORDERS_TOKEN", "PAYMENTS_TOKEN", "USERS_TOKEN"].map((name) => [name, "t".repeat(48)]);
    const cwd = join(PROJECT_ROOT, "examples/n8n-proxy");
    const { config } = loadConfig({
      cwd,
      env: {
        ...Object.fromEntries(tokens),
        N8N_SECRET: `whsec_${Buffer.alloc(32, 7).toString("base64")}`,
        ...n8n?.environment,
      },
    });
    const inContainer = (path: string | undefined) => resolve(cwd, path ?? "").replace(cwd, "/app");
    const mounted = (n8n?.volumes ?? []).map((volume) => volume.split(":")[1] ?? "");
    expect(mounted).toContain(inContainer(config.validationsDir));
    expect(mounted).toContain(dirname(inContainer(config.logFile)));
    expect(mounted.some((path) => path === n8n?.command?.at(-1))).toBe(true);
    expect(mounted).toContain(config.dataDir);
  });
});

describe("the units of systemd", () => {
  const [service = "", socket = ""] = UNITS.map(read);
  const valueOf = (unit: string, key: string) => new RegExp(`^${key}=(.*)$`, "m").exec(unit)?.[1];

  it("listen where the gateway does, run a command that there is, and write only where they may", async () => {
    expect(valueOf(socket, "ListenStream")).toBe(`${usual.host}:${usual.port}`);
    const [program, name, ...words] = valueOf(service, "ExecStart")?.split(" ") ?? [];
    expect([program, name]).toEqual(["/usr/bin/env", "posthorn"]);
    expect(await findCommandFault(words, true)).toBeUndefined();
    expect(words.at(-1)).toBe(`/var/lib/${valueOf(service, "StateDirectory")}`);
    expect(Number(valueOf(service, "TimeoutStopSec"))).toBeGreaterThan(usual.limits.shutdownTimeoutS);
    expect(valueOf(service, "RestartPreventExitStatus")?.split(" ")).toContain("3");
  });
});

describe("the chart", () => {
  it("has a schema for each of its values", () => {
    const schema = JSON.parse(read(`${CHART}/values.schema.json`)) as Schema;
    expect(findUndescribed(parse(read(`${CHART}/values.yaml`)) as object, schema, schema)).toEqual([]);
    // The control.
    expect(findUndescribed({ image: { tga: "" } }, schema, schema)).toEqual(["image.tga"]);
  });

  it("starts on the usual port, and is not told another one by a service of the same name", () => {
    const pod = read(`${CHART}/templates/_helpers.tpl`);
    expect(pod).toContain(`containerPort: ${usual.port}`);
    expect(pod).toMatch(new RegExp(`POSTHORN_PORT\n +value: "${usual.port}"`));
    expect(pod).toContain("enableServiceLinks: false");
    expect(Number(/terminationGracePeriodSeconds: (\d+)/.exec(pod)?.[1])).toBeGreaterThan(
      usual.limits.shutdownTimeoutS,
    );
  });

  interface Schema {
    properties?: Record<string, Schema>;
    $ref?: string;
    definitions?: Record<string, Schema>;
  }

  function findUndescribed(values: object, schema: Schema, root: Schema, path = ""): string[] {
    return Object.entries(values).flatMap(([key, value]: [string, unknown]) => {
      const property = schema.properties?.[key];
      const described = root.definitions?.[property?.$ref?.split("/").at(-1) ?? ""] ?? property;
      if (described === undefined) return [path + key];
      const isSection = typeof value === "object" && value !== null && described.properties !== undefined;
      return isSection ? findUndescribed(value, described, root, `${path}${key}.`) : [];
    });
  }
});

it("a configuration can be read where the image looks for it", () => {
  const workdir = /^WORKDIR (\/config)$/m.exec(DOCKERFILE)?.[1];
  expect(workdir).toBe("/config");
  writeFileSync(join(folder, "posthorn.yaml"), "port: 9000\n");
  expect(loadConfig({ cwd: folder, env: {} }).config.port).toBe(9000);
});
