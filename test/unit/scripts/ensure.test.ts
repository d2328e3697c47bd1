import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runCommand, startCommand, type Finished } from "../../support/run-command.ts";
import { openSampleCheckout, type SampleCheckout } from "../../support/sample-checkout.ts";

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

function ensure(): Promise<Finished> {
  return runCommand(process.execPath, ["scripts/ensure.mjs"], checkout.root);
}

async function countBuilds(): Promise<number> {
  return (await checkout.read("tsc-runs.log")).trim().split("\n").length;
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
    const manifest = JSON.parse(await checkout.read("package.json"));
    const lockfile = JSON.parse(await checkout.read("package-lock.json"));
    manifest.devDependencies.extra = "file:fakes/extra";
    lockfile.packages[""].devDependencies.extra = "file:fakes/extra";
    lockfile.packages["fakes/extra"] = { version: "1.0.0", dev: true };
    lockfile.packages["node_modules/extra"] = { resolved: "fakes/extra", link: true };
    await checkout.write("fakes/extra/package.json", JSON.stringify({ name: "extra", version: "1.0.0" }));
    await checkout.write("package.json", JSON.stringify(manifest));
    await checkout.write("package-lock.json", JSON.stringify(lockfile));
    const { stderr } = await ensure();
    expect(stderr).toContain("installing dependencies (lockfile changed)");
    expect(existsSync(join(checkout.root, "node_modules/extra"))).toBe(true);
    expect(await countBuilds()).toBe(2);
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
    await checkout.write("src/bad.ts", "BROKEN");
    const failure = { exitCode: 2, stderr: expect.stringContaining("the build failed (tsc exit code 2)") };
    expect(await ensure()).toMatchObject(failure);
    expect(await ensure()).toMatchObject(failure);
    await checkout.write("src/bad.ts", "");
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
    await checkout.write("src/bad.ts", "BROKEN");
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
