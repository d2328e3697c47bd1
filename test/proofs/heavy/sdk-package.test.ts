import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseSync } from "oxc-parser";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openFaultyProxy } from "../../support/faulty-proxy.ts";
import { runCommand } from "../../support/run-command.ts";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";
import { openSinkServer } from "../../support/sink-server.ts";
import { ADMIN_KEY, startTestGateway } from "../../support/test-gateway.ts";
import { openVisits } from "../../support/visits.ts";

const TSC = join(PROJECT_ROOT, "node_modules/typescript/bin/tsc");
const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

let folder: string;
let packed: string[];

/** An empty folder into which the package was installed, as it is packed. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "posthorn-sdk-"));
  const copy = join(folder, "checkout/sdk");
  await cp(join(PROJECT_ROOT, "sdk"), copy, {
    recursive: true,
    filter: (file) => !/sdk\/(dist|node_modules)/.test(file),
  });
  await cp(join(PROJECT_ROOT, "tsconfig.json"), join(folder, "checkout/tsconfig.json"));
  const built = await runCommand(process.execPath, [TSC, "-p", "tsconfig.json"], copy);
  if (built.exitCode !== 0) throw new Error(`the SDK cannot be built: ${built.stdout}`);
  const { stdout } = await runCommand("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], copy);
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
  packed = files.map(({ path }) => path);
  for (const path of packed) {
    const target = join(folder, "node_modules/@posthorn/sdk", path);
    await mkdir(dirname(target), { recursive: true });
    await cp(join(copy, path), target);
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const readPacked = (path: string) => readFile(join(folder, "node_modules/@posthorn/sdk", path), "utf8");

/** What a browser or a worker would not have. */
function findForeign(code: string): string[] {
  const { staticImports, staticExports, dynamicImports } = parseSync("file.js", code).module;
  const imports = [
    ...staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...staticExports.flatMap(({ entries }) => entries.flatMap(({ moduleRequest }) => moduleRequest?.value ?? [])),
    ...dynamicImports.map(({ moduleRequest: { start, end } }) => code.slice(start + 1, end - 1)),
  ];
  const plain = code.replaceAll(/\/\*.*?\*\/|\/\/[^\n]*/gs, "");
  const globals = plain.match(/\b(process|Buffer|require|__dirname|__filename|setImmediate)\b(?=[.([])/g) ?? [];
  return [...imports.filter((name) => !name.startsWith(".")), ...globals];
}

describe("the package of the SDK", () => {
  it("has what is built, and nothing else", () => {
    const others = packed.filter((path) => !/^dist\/.+\.(js|d\.ts)$/.test(path));
    expect(others.sort()).toEqual(["LICENSE", "README.md", "package.json"]);
    expect(packed).toEqual(expect.arrayContaining(["dist/index.js", "dist/index.d.ts", "dist/adapters/next.js"]));
  });

  it("says what it is", async () => {
    const manifest = JSON.parse(await readPacked("package.json")) as Record<string, unknown>;
    for (const name of ["description", "license", "keywords", "exports", "types", "files", "engines"]) {
      expect(manifest).toHaveProperty(name);
    }
    const whole = JSON.parse(await readFile("package.json", "utf8")) as Record<string, object>;
    expect(manifest).toMatchObject({
      repository: { ...whole["repository"], directory: "sdk" },
      homepage: expect.stringContaining("/sdk"),
      bugs: whole["bugs"],
    });
    expect(manifest).not.toHaveProperty("dependencies");
    const exports = Object.values(manifest["exports"] as Record<string, string | Record<string, string>>);
    for (const path of exports.flatMap((one) => (typeof one === "string" ? one : Object.values(one)))) {
      expect(packed).toContain(path.slice("./".length));
    }
  });

  it("imports nothing, and uses only what every runtime has", async () => {
    for (const path of packed.filter((name) => name.endsWith(".js"))) {
      expect([path, findForeign(await readPacked(path))]).toEqual([path, []]);
    }
    const foreign =
      'import { createHmac } from "node:crypto";\n// Buffer.from\nconst a = Buffer.from(process.env.X);\nawait import("left-pad");';
    expect(findForeign(foreign)).toEqual(["node:crypto", "left-pad", "Buffer", "process"]);
  });

  it("is imported by any program, with types, under the strictest rules", async () => {
    const project = join(folder, "consumer");
    await mkdir(project);
    const code = `
      import { createPosthorn, verify, type Event, type StreamFrame } from "@posthorn/sdk";
      import { verifyWebhook } from "@posthorn/sdk/express";
      import { verifyWebhooks } from "@posthorn/sdk/fastify";
      import { verifyWebhook as ofHono } from "@posthorn/sdk/hono";
      import { withWebhook } from "@posthorn/sdk/next";
      const posthorn = createPosthorn({ url: "http://127.0.0.1:1", key: "k" });
      export const first: Promise<Event[]> = posthorn.events.list({ limit: 1, tenant_id: undefined }).toArray(0);
      export type Shown = StreamFrame["event"];
      export const names = [verify, verifyWebhook, verifyWebhooks, ofHono, withWebhook].map((one) => typeof one);
      console.log(names.join());
    `;
    const options = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
    };
    const common = {
      ...options,
      target: "es2022",
      lib: ["es2022", "dom", "dom.iterable", "dom.asynciterable"],
      types: [],
    };
    const nodenext = { ...common, module: "nodenext", outDir: "out" };
    const bundler = { ...common, module: "esnext", moduleResolution: "bundler", noEmit: true };
    await writeFile(join(project, "main.mts"), code);
    await writeFile(join(project, "wrong.mts"), `${code}\nawait posthorn.events.list({ limit: "1" }).page();`);
    for (const [name, compilerOptions] of Object.entries({ nodenext, bundler })) {
      await writeFile(join(project, `${name}.json`), JSON.stringify({ compilerOptions, files: ["main.mts"] }));
      expect(await runCommand(process.execPath, [TSC, "-p", `${name}.json`], project)).toMatchObject({
        stdout: "",
        exitCode: 0,
      });
    }
    await writeFile(join(project, "wrong.json"), JSON.stringify({ compilerOptions: bundler, files: ["wrong.mts"] }));
    const wrong = await runCommand(process.execPath, [TSC, "-p", "wrong.json"], project);
    expect(wrong.stdout).toMatch(/wrong\.mts.*'string' is not assignable to type 'number/s);
    const { stdout } = await runCommand(process.execPath, ["out/main.mjs"], project);
    expect(stdout.trim()).toBe("function,function,function,function,function");
  });
});

describe("the SDK in a browser", () => {
  const visits = openVisits();

  it("publishes, lists, follows and verifies", async () => {
    const gateway = await startTestGateway();
    const proxy = await openFaultyProxy(() => gateway.url);
    const built = new Map<string, string>();
    for (const path of packed.filter((name) => name.endsWith(".js"))) built.set(`/${path}`, await readPacked(path));
    proxy.doWith(({ path }) => {
      if (path === "/page") return { status: 200, headers: { "content-type": "text/html" } };
      const body = built.get(path);
      return body === undefined ? "pass" : { status: 200, headers: { "content-type": "text/javascript" }, body };
    });
    try {
      const { page } = await visits.open(proxy.url);
      await page.goto("/page");
      const seen = await page.evaluate(`(async () => {
        const { createPosthorn, sign, verify } = await import("/dist/index.js");
        const posthorn = createPosthorn({ url: location.origin, key: "${ADMIN_KEY}" });
        const stream = posthorn.stream({ types: "event" })[Symbol.asyncIterator]();
        const { value: ready } = await stream.next();
        const publisher = posthorn.createPublisher({ lingerMs: 1 });
        const { duplicate } = await publisher.publish({ event_type: "a.b", payload: { n: 12345678901234567890n } });
        const { value: frame } = await stream.next();
        await stream.return();
        const [listed] = await posthorn.events.list({ event_type: "a.b" }).toArray();
        const { payload } = await posthorn.events.get(listed.event_id);
        const { scheme } = await verify("{}", await sign("{}", "${SECRET}"), "${SECRET}");
        const error = await posthorn.subscriptions.get("none").catch((thrown) => thrown);
        return [ready.event, duplicate, frame.event, frame.data.event_id === listed.event_id, String(payload.n), scheme, error.code];
      })()`);
      expect(seen).toEqual(["ready", false, "event", true, "12345678901234567890", "standard", "not_found"]);
    } finally {
      await proxy.close();
      await gateway.close();
    }
  });
});

describe("the examples of its README", () => {
  it("compile, run and print what they should", async () => {
    const readme = await readPacked("README.md");
    const [verifying = "", client = ""] = readme.split("## Publish events");
    const blocksOf = (text: string) => [...text.matchAll(/```ts\n(.*?)```/gs)].map(([, code = ""]) => code);
    const setUp = `
      import { sign as signIt } from "@posthorn/sdk";
      const secret = "${SECRET}";
      const rawBody = "{}";
      const request = { headers: await signIt(rawBody, secret, { id: "evt_1" }) };
    `;
    const [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
    try {
      const project = join(folder, "examples");
      await mkdir(join(project, "node_modules"), { recursive: true });
      for (const name of ["express", "fastify", "hono", "@types"]) {
        await symlink(join(PROJECT_ROOT, "node_modules", name), join(project, "node_modules", name));
      }
      const programs = [...blocksOf(verifying).map((code) => setUp + code), blocksOf(client).join("\n")].map((code) =>
        code.replace("http://127.0.0.1:8080", gateway.url).replace("phk_…", ADMIN_KEY),
      );
      for (const [index, code] of programs.entries()) await writeFile(join(project, `${index}.mts`), code);
      const compilerOptions = {
        strict: true,
        target: "es2022",
        module: "nodenext",
        types: ["node"],
        outDir: "out",
        skipLibCheck: true,
      };
      await writeFile(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.mts"] }));
      expect(await runCommand(process.execPath, [TSC], project)).toMatchObject({ stdout: "", exitCode: 0 });

      await gateway.subscribe({ name: "ticks", url: sink.url, events: ["tick"] });
      // For the example of the stream, which waits for what happens next.
      const tick = () => void gateway.publish({ event_type: "tick", payload: {} }).catch(() => undefined);
      const ticking = setInterval(tick, 50);
      const run = (index: number) =>
        runCommand(process.execPath, [`out/${index}.mjs`], project, { WEBHOOK_SECRET: SECRET });
      const results = await Promise.all(programs.map((_, index) => run(index))).finally(() => clearInterval(ticking));
      expect(results.map(({ stderr, exitCode }) => ({ stderr, exitCode }))).toEqual(
        programs.map(() => ({ stderr: "", exitCode: 0 })),
      );
      expect(results[0]?.stdout).toBe("evt_1\n");
      const said = results.at(-1)?.stdout ?? "";
      for (const text of [
        "goes to 0 subscriptions",
        "fulfilled\nfulfilled\nfulfilled",
        "whsec_",
        "tried: ",
        "404 not_found",
      ]) {
        expect(said).toContain(text);
      }
      await gateway.settled();
    } finally {
      await Promise.all([gateway.close(), sink.close()]);
    }
  });
});
