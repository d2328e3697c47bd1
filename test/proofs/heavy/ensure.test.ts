import { existsSync, lstatSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { runCommand, startCommand, type Finished } from "../../support/run-command.ts";
import { openSampleCheckout, type SampleCheckout } from "../../support/sample-checkout.ts";
import { mountSmallDisk } from "../../support/small-disk.ts";

const GATEWAY = `
const keepAlive = setInterval(() => {}, 1000);
for (const signal of ["SIGTERM", "SIGINT"]) {
  process.once(signal, () => {
    process.stdout.write("got " + signal + "\\n");
    clearInterval(keepAlive);
    process.exitCode = 7;
  });
}
process.stdout.write("started " + process.pid + " " + JSON.stringify(process.argv.slice(2)) + "\\n");
`;

let checkout: SampleCheckout;
beforeEach(async () => {
  checkout = await openSampleCheckout(GATEWAY);
});
afterEach(() => checkout.remove());

function ensure(packages = "start", env: Record<string, string> = {}): Promise<Finished> {
  return runCommand(process.execPath, ["scripts/ensure.mjs", packages], checkout.root, env);
}

async function countBuilds(): Promise<number> {
  return (await checkout.read("builds.log")).trim().split("\n").length;
}

const hasPackage = (name: string) => existsSync(join(checkout.root, "node_modules", name));

/** The lockfile wants one more package for running and building. */
async function addPackage(name: string): Promise<void> {
  const manifest = JSON.parse(await checkout.read("package.json"));
  const lockfile = JSON.parse(await checkout.read("package-lock.json"));
  manifest.devDependencies[name] = `file:fakes/${name}`;
  lockfile.packages[""].devDependencies[name] = `file:fakes/${name}`;
  lockfile.packages[`fakes/${name}`] = { version: "1.0.0", dev: true };
  lockfile.packages[`node_modules/${name}`] = { resolved: `fakes/${name}`, link: true };
  await checkout.write(`fakes/${name}/package.json`, JSON.stringify({ name, version: "1.0.0" }));
  await checkout.write("package.json", JSON.stringify(manifest));
  await checkout.write("package-lock.json", JSON.stringify(lockfile));
}

describe("a checkout made ready", () => {
  it("is installed and built from nothing, and then left alone in silence", async () => {
    const first = await ensure();
    expect(first).toMatchObject({ exitCode: 0 });
    expect(first.stderr).toMatch(/^posthorn: installing dependencies \(first run\) …\n[^]*posthorn: building …\n$/);
    expect(existsSync(join(checkout.root, "dist/cli/main.js"))).toBe(true);

    const second = await ensure();
    expect(second).toEqual({ exitCode: 0, stdout: "", stderr: "" });
    expect(await countBuilds()).toBe(1);
  });

  it("is installed again when the lockfile asks for something else, and built again", async () => {
    await ensure();
    await addPackage("extra");
    const { stderr } = await ensure();
    expect(stderr).toContain("installing dependencies (lockfile changed)");
    expect(hasPackage("extra")).toBe(true);
    expect(hasPackage("vitest")).toBe(false);
    expect(await countBuilds()).toBe(2);
  });

  it("gets the packages of tests only when they are asked for, and keeps what it has", async () => {
    await ensure();
    expect([hasPackage("rolldown"), hasPackage("vitest")]).toEqual([true, false]);
    const inUse = join(checkout.root, "node_modules/rolldown");
    const installedAt = lstatSync(inUse).ctimeMs;
    expect(await ensure("packages")).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(/^posthorn: installing dependencies \(those of tests\) …\n/),
    });
    expect([lstatSync(inUse).ctimeMs, hasPackage("vitest")]).toEqual([installedAt, true]);
    for (const packages of ["start", "all"]) expect((await ensure(packages)).stderr).toBe("");

    await addPackage("extra");
    await ensure();
    expect([hasPackage("extra"), hasPackage("vitest")]).toEqual([true, true]);
  });

  it("has all packages after `npm ci` by hand", async () => {
    await runCommand("npm", ["ci"], checkout.root);
    for (const packages of ["start", "all"]) expect((await ensure(packages)).stderr).not.toContain("installing");
    expect(hasPackage("vitest")).toBe(true);
  });

  it("says in one line that there is no network, and leaves other failures to npm's words", async () => {
    const lockfile = JSON.parse(await checkout.read("package-lock.json"));
    const manifest = JSON.parse(await checkout.read("package.json"));
    manifest.devDependencies.far = "1.0.0";
    await checkout.write("package.json", JSON.stringify(manifest));
    expect(await ensure()).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/npm error[^]*posthorn: npm ci failed with exit code 1\n$/),
    });

    lockfile.packages[""].devDependencies.far = "1.0.0";
    lockfile.packages["node_modules/far"] = { version: "1.0.0", dev: true };
    await checkout.write("package-lock.json", JSON.stringify(lockfile));
    const env = {
      npm_config_registry: "http://127.0.0.1:1/",
      npm_config_cache: join(checkout.root, "cache"),
      npm_config_fetch_retries: "0",
    };
    expect(await ensure("start", env)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(
        /^posthorn: installing dependencies \(first run\) …\nposthorn: packages are missing, and npm's registry cannot be reached: request to http:\/\/127\.0\.0\.1:1\/far failed, reason: [^\n]+\n$/,
      ),
    });
  });

  it("follows the sources: other files are copied, and what lost its source is removed", async () => {
    await checkout.write("src/store/migrations/0001_first.sql", "select 1;");
    await checkout.write("src/old-thread.ts", "");
    await ensure();
    expect(existsSync(join(checkout.root, "dist/old-thread.js"))).toBe(true);
    expect(await checkout.read("dist/store/migrations/0001_first.sql")).toBe("select 1;");

    await checkout.write("src/store/migrations/0001_first.sql", "select 2;");
    await checkout.remove("src/old-thread.ts");
    expect((await ensure()).stderr).toBe("posthorn: building …\n");
    expect(await checkout.read("dist/store/migrations/0001_first.sql")).toBe("select 2;");
    expect(existsSync(join(checkout.root, "dist/old-thread.js"))).toBe(false);
  });

  it("is built again when a built file was deleted", async () => {
    await ensure();
    await checkout.remove("dist/cli");
    expect((await ensure()).stderr).toBe("posthorn: building …\n");
    expect(existsSync(join(checkout.root, "dist/cli/main.js"))).toBe(true);
  });

  it("does not pass for built after a build that failed", async () => {
    await ensure();
    await checkout.write("src/bad-thread.ts", "BROKEN");
    const failure = { exitCode: 2, stderr: expect.stringContaining("the build failed (exit code 2 of the bundler)") };
    expect(await ensure()).toMatchObject(failure);
    expect(await ensure()).toMatchObject(failure);
    await checkout.write("src/bad-thread.ts", "");
    expect(await ensure()).toMatchObject({ exitCode: 0 });
  });

  it("is made ready once by processes that start at the same time", async () => {
    const results = await Promise.all([ensure(), ensure(), ensure()]);
    expect(results.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
    expect(results.filter(({ stderr }) => stderr.includes("installing"))).toHaveLength(1);
    expect(await countBuilds()).toBe(1);
  });

  it("is not kept waiting by the lock of a process that died", async () => {
    const dead = startCommand(process.execPath, ["-e", ""], checkout.root, {});
    await dead.finished;
    await checkout.write("dist/.lock/owner", JSON.stringify({ pid: dead.child.pid, host: hostname() }));
    const result = await ensure();
    expect(result.exitCode).toBe(0);
    expect(result.stderr).not.toContain("waiting");
  });

  it("waits for the lock of a process that lives", async () => {
    await checkout.write("dist/.lock/owner", JSON.stringify({ pid: process.pid, host: hostname() }));
    const waiting = startCommand(process.execPath, ["scripts/ensure.mjs"], checkout.root, {});
    await new Promise<void>((resolve) => {
      waiting.child.stderr?.on("data", (chunk: string) => {
        if (chunk.includes("waiting for another process")) resolve();
      });
    });
    await checkout.remove("dist/.lock");
    expect(await waiting.finished).toMatchObject({ exitCode: 0 });
  });
});

describe("a full disk", () => {
  /** What was said beside the steps: neither a stack nor the words of npm or the bundler. */
  const said = ({ exitCode, stdout, stderr }: Finished) => ({
    exitCode,
    lines: `${stdout}${stderr}`.split("\n").filter((one) => one !== "" && !/^posthorn: .* …$/.test(one)),
  });
  const fullDisk = (text: string) => ({
    exitCode: 1,
    lines: [expect.stringMatching(new RegExp(`^posthorn: ${text}`))],
  });

  it("of the checkout is said in one line, whatever finds it, and nothing passes for ready", async (context) => {
    const disk = mountSmallDisk(context, 8);
    onTestFinished(() => disk.unmount());
    const small = await openSampleCheckout("", disk.path);
    const prepare = () => runCommand(process.execPath, ["scripts/ensure.mjs"], small.root);
    disk.fill();
    expect(said(await prepare())).toEqual(fullDisk("(no space is|npm found no space) left on the disk of /"));
    disk.free();
    expect(await prepare()).toMatchObject({ exitCode: 0 });

    await small.write("src/cli/main.ts", "x".repeat(4 * 1024 * 1024));
    disk.fill();
    expect(said(await prepare())).toEqual(fullDisk(`no space is left on the disk of ${small.root}`));
    disk.free();
    await small.write("src/cli/main.ts", "");
    expect(await prepare()).toMatchObject({ exitCode: 0 });
  });

  it("is said in one line where npm or a temporary folder meets it", async () => {
    await checkout.write(
      "commands/npm",
      "#!/bin/sh\necho 'npm error code ENOSPC' >&2\necho 'npm error nospc …' >&2\nexit 228\n",
    );
    await chmod(join(checkout.root, "commands/npm"), 0o755);
    const path = `${join(checkout.root, "commands")}:${process.env["PATH"]}`;
    const env = { npm_execpath: "", PATH: path };
    expect(said(await ensure("start", env))).toEqual(
      fullDisk(`npm found no space left on the disk of ${checkout.root}`),
    );

    // As mkdtemp says it where it can make no folder.
    const script = `import { runScript } from "./scripts/run.mjs";
      await runScript(() => { throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC", path: "/tmp/posthorn-XX" }); });`;
    const args = ["--input-type=module", "-e", script];
    expect(said(await runCommand(process.execPath, args, checkout.root))).toEqual(
      fullDisk("no space is left on the disk of /tmp/posthorn-XX: free some there"),
    );
  });
});

describe("npm start", () => {
  it("becomes the gateway in its own process", async () => {
    const running = startCommand(process.execPath, ["scripts/start.mjs"], checkout.root, {});
    await running.printed(`started ${running.child.pid} ["start"]`);
    running.child.kill("SIGTERM");
    expect(await running.finished).toMatchObject({ exitCode: 7 });
  });

  it.each(["SIGTERM", "SIGINT"] as const)("hands %s to the gateway and gives back its exit code", async (signal) => {
    const running = startCommand("npm", ["start", "--", "--port", "0"], checkout.root, {});
    await running.printed('["start","--port","0"]');
    running.child.kill(signal);
    expect(await running.finished).toMatchObject({ exitCode: 7, stdout: expect.stringContaining(`got ${signal}`) });
  });

  it("does not start what could not be built", async () => {
    await checkout.write("src/bad-thread.ts", "BROKEN");
    const { exitCode, stdout } = await runCommand(process.execPath, ["scripts/start.mjs"], checkout.root);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  });
});

describe("bin/posthorn.js", () => {
  it("says what to do when nothing was built", async () => {
    expect(await runCommand(process.execPath, ["bin/posthorn.js"], checkout.root)).toEqual({
      exitCode: 3,
      stdout: "",
      stderr: "posthorn: dist/cli/main.js is missing; run `npm run build` first\n",
    });
  });
});
