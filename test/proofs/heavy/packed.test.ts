import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ensureDashboard } from "../../../scripts/build-dashboard.mjs";
import { runCommand, startCommand, type Running } from "../../support/run-command.ts";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";

const KEY = "test-admin-key-0123456789";
const XSD = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="o" type="xs:int"/></xs:schema>`;

/** Those of the manifest that somebody looks for who finds the package in a registry. */
const METADATA = [
  "description",
  "keywords",
  "homepage",
  "bugs",
  "repository",
  "license",
  "engines",
  "bin",
  "exports",
  "types",
];

let folder: string;
let packedFiles: string[];
let installed: string;
let gateway: Running;
let url: string;

/** As `npm install posthorn` leaves it: what is packed, beside the packages that it depends on and no others. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "posthorn-packed-"));
  await ensureDashboard();
  installed = join(folder, "node_modules/posthorn");
  const packed = await runCommand("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], PROJECT_ROOT);
  const [{ files }] = JSON.parse(packed.stdout) as [{ files: { path: string }[] }];
  packedFiles = files.map(({ path }) => path);
  for (const { path } of files) await cp(join(PROJECT_ROOT, path), join(installed, path));
  const manifest = JSON.parse(await readFile(join(PROJECT_ROOT, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  for (const name of Object.keys(manifest.dependencies)) {
    await mkdir(dirname(join(folder, "node_modules", name)), { recursive: true });
    await symlink(join(PROJECT_ROOT, "node_modules", name), join(folder, "node_modules", name));
  }
  gateway = startCommand(process.execPath, [join(installed, "bin/posthorn.js"), "start", "--port", "0"], folder, {
    POSTHORN_ADMIN_KEY: KEY,
    POSTHORN_BALLAST_BYTES: "0",
    // Short of cores beside other tests; shedding has tests of its own.
    POSTHORN_MAX_LOOP_LAG_MS: "60000",
  });
  await gateway.printed("gateway is listening");
  url = /"url":"([^"]+)"/.exec(gateway.output().stdout)?.[1] ?? "";
});
afterAll(async () => {
  gateway.child.kill("SIGTERM");
  await gateway.finished;
  await rm(folder, { recursive: true, force: true });
});

async function send(method: string, path: string, body?: string, type = "application/json"): Promise<[number, string]> {
  const headers = { authorization: `Bearer ${KEY}`, "content-type": type };
  const answer = await fetch(`${url}${path}`, { method, headers, ...(body !== undefined && { body }) });
  return [answer.status, await answer.text()];
}

/** What only those who work on it need. */
function findDevelopmentFiles(paths: readonly string[]): string[] {
  const allowed = [
    /^(README|CHANGELOG)\.md$/,
    /^(LICENSE|package\.json|posthorn\.example\.yaml)$/,
    /^bin\/(posthorn\.js|command\.js|command\.d\.ts)$/,
    /^docs\/[\w-]+(\/[\w-]+)*\.(md|json|svg|png)$/,
    /^deploy\/(grafana|prometheus|systemd)\/[\w.-]+\.(json|yaml|service|socket)$/,
    /^dist\/dashboard\/(index\.html|THIRD-PARTY-LICENCES\.md|assets\/[\w-]+\.(js|css|svg))(\.(gz|br))?$/,
    /^dist\/dashboard\/(assets\/)?[\w.-]+\.(html|js|css|svg|png|ico|woff2|webmanifest)(\.(br|gz))?$/,
    /^dist\/(THIRD-PARTY-LICENCES\.txt|.*\.js|store\/migrations\/\w+\/\w+\.sql)$/,
  ];
  return paths.filter((path) => !allowed.some((pattern) => pattern.test(path)));
}

describe("the package", () => {
  it("says of itself all that a registry shows, and what is true", async () => {
    const manifest = JSON.parse(await readFile(join(installed, "package.json"), "utf8")) as Record<string, unknown>;
    for (const name of METADATA) expect([name, manifest[name]]).toEqual([name, expect.anything()]);
    const { exports, types, repository } = manifest as {
      exports: { ".": { types: string; default: string } };
      types: string;
      repository: { url: string };
    };
    expect(repository.url).toMatch(/^git\+https:\/\/.*\.git$/);
    for (const path of [types, exports["."].types, exports["."].default]) {
      expect(packedFiles).toContain(path.replace(/^\.\//, ""));
    }
    const script = "import('posthorn').then(({ command, version }) => console.log(JSON.stringify([command, version])))";
    const { stdout } = await runCommand(process.execPath, ["-e", script], folder);
    expect(JSON.parse(stdout)).toEqual([join(installed, "bin/posthorn.js"), manifest["version"]]);
  });

  it("has no files of development", () => {
    expect(findDevelopmentFiles(packedFiles)).toEqual([]);
    const others = ["test/unit/a.test.ts", "src/gateway.ts", "dist/chunks/a.js.map", "bench/run.mjs", ".env"];
    // Four megabytes that nobody needs to run it; registries show those of the README from the repository.
    const pictures = ["docs/screenshots/events.light.png"];
    expect(findDevelopmentFiles([...others, ...pictures, "README.md"])).toEqual([...others, ...pictures]);
  });

  it("brings the licences of all packages that are bundled, and of no others", async () => {
    const licences = await readFile(join(installed, "dist/THIRD-PARTY-LICENCES.txt"), "utf8");
    for (const name of ["fastify", "typebox", "pino", "yaml", "commander", "ajv", "prom-client", "re2js"]) {
      expect(licences).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+\\n\\n`, "m"));
    }
    const page = await readFile(join(installed, "dist/dashboard/THIRD-PARTY-LICENCES.md"), "utf8");
    for (const name of ["react", "uplot", "wouter"]) expect(page).toMatch(new RegExp(`^## ${name} - \\d`, "m"));
    expect(licences).not.toMatch(/^(vitest|typescript|rolldown|oxlint|smartsheet) \d/m);
  });

  it("checks XML and large JSON in its thread for bodies", async () => {
    const large = JSON.stringify({ text: "x".repeat(300_000) });
    expect(await send("POST", "/webhook/a", "<a/>", "application/xml")).toEqual([
      202,
      expect.stringContaining("queued"),
    ]);
    expect(await send("POST", "/webhook/a", "<a>", "application/xml")).toEqual([400, expect.stringContaining("XML")]);
    expect((await send("POST", "/webhook/a", large))[0]).toBe(202);
    expect((await send("POST", "/webhook/a", large.slice(1)))[0]).toBe(400);
  });

  it("compares payloads with schemas in its thread for them", async () => {
    const schema = { type: "object", required: ["id"] };
    const type = JSON.stringify({ name: "order.created", versions: [{ version: "1.0", schema }] });
    expect((await send("POST", "/api/v1/event-types", type))[0]).toBe(201);
    const publish = (payload: object) =>
      send("POST", "/api/v1/events", JSON.stringify({ event_type: "order.created", payload }));
    expect(await publish({ id: 1 })).toEqual([202, expect.any(String)]);
    expect(await publish({})).toEqual([422, expect.stringContaining("schema_mismatch")]);
  });

  it("compares webhooks with validations in its thread for them", async () => {
    expect(await send("PUT", "/validations/orders", XSD, "application/xml")).toEqual([200, expect.any(String)]);
    expect((await send("POST", "/webhook/orders", "<o>7</o>", "application/xml"))[0]).toBe(202);
    const refused = [422, expect.stringContaining("validation_failed")];
    expect(await send("POST", "/webhook/orders", "<o>x</o>", "application/xml")).toEqual(refused);
  });

  it("writes its API reference, and says which field of a body is wrong", async () => {
    expect(await send("GET", "/openapi.json")).toEqual([200, expect.stringContaining('"/api/v1/subscriptions"')]);
    expect(await send("GET", "/docs")).toEqual([200, expect.stringContaining("<html")]);
    expect(await send("GET", "/metrics")).toEqual([200, expect.stringContaining("posthorn_requests_total")]);
    const wrong = await send("POST", "/api/v1/subscriptions", '{"name": "x", "url": 3, "events": ["*"]}');
    expect(wrong).toEqual([422, expect.stringContaining('"field":"url"')]);
  });

  // shows: Q69
  it("says which package of Azure is to be installed where one is wanted", async () => {
    const connectionString = "AccountName=a;AccountKey=aaaa;QueueEndpoint=http://127.0.0.1:1/a";
    const connections = [{ name: "default", kind: "azure-storage-queue", connection_string: connectionString }];
    const sources = [{ name: "home", kind: "azure-storage-queue", options: { queue: "webhooks" } }];
    await writeFile(join(folder, "queues.yaml"), JSON.stringify({ connections, sources }));
    const posthorn = join(installed, "bin/posthorn.js");
    for (const act of ["declare", "check"]) {
      const args = [posthorn, "queue", act, "--config", "queues.yaml"];
      expect(await runCommand(process.execPath, args, folder)).toMatchObject({
        exitCode: 1,
        stdout:
          'fail  azure-storage-queue default: The package "@azure/storage-queue" is not installed. Run `npm install ' +
          "@azure/storage-queue@12.30.0` beside Posthorn.\n",
      });
    }
  });

  it("has all commands", async () => {
    const posthorn = join(installed, "bin/posthorn.js");
    const env = { POSTHORN_URL: url, POSTHORN_API_KEY: KEY };
    const run = (...args: string[]) => runCommand(process.execPath, [posthorn, ...args], folder, env);
    for (const args of [["status"], ["events"], ["subscriptions"], ["config", "show"], ["keys", "list"]]) {
      expect([args, await run(...args)]).toMatchObject([args, { exitCode: 0 }]);
    }
    expect(await run("backup", "copy.tar.gz")).toMatchObject({ exitCode: 0 });
    expect(await run("bench", "--seconds", "2", "--json")).toMatchObject({ exitCode: 0 });
  });
});
