import { createHmac } from "node:crypto";
import { mkdtemp, open, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findTool } from "../../../../scripts/test-tools.mjs";
import { until } from "../../../support/api-client.ts";
import { runCommand, startCommand, type Running } from "../../../support/run-command.ts";
import { PROJECT_ROOT } from "../../../support/sample-checkout.ts";
import { openSinkServer } from "../../../support/sink-server.ts";
import { skipWithoutService } from "../../../support/skip.ts";

const MAX_BYTES = 60e6;
const PLATFORMS = ["linux-x64", "linux-arm64", "darwin-arm64"] as const;
type Platform = (typeof PLATFORMS)[number];
const HERE = `${process.platform}-${process.arch}` as Platform;
const SECRET = "a-secret-of-github-0123456789";
const BODY = JSON.stringify({ action: "opened", number: 1 });
/** Nothing of this machine but the kernel: what the archive lacks is not found elsewhere. */
const NOTHING = { PATH: "", HOME: "/nonexistent", NODE_OPTIONS: undefined, NODE_PATH: undefined };
const SETTINGS = {
  POSTHORN_ADMIN_KEY: "test-admin-key-0123456789",
  POSTHORN_ALLOW_PRIVATE_DESTINATIONS: "true",
  POSTHORN_ALLOW_HTTP_DESTINATIONS: "true",
  POSTHORN_BALLAST_BYTES: "0",
  POSTHORN_DISK_MIN_FREE_BYTES: "0",
  POSTHORN_MAX_LOOP_LAG_MS: "60000",
};

let folder: string;
/** Each archive, unpacked. */
const unpacked = new Map<Platform, string>();
const sizes = new Map<Platform, number>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "posthorn-archives-"));
  const made = await runCommand(process.execPath, ["scripts/archive.mjs"], PROJECT_ROOT);
  if (made.exitCode !== 0) throw new Error(`no archives were made: ${made.stdout}${made.stderr}`);
  for (const platform of PLATFORMS) {
    const [, file = ""] = new RegExp(`^(archives/\\S+-${platform}\\.tar\\.gz) `, "m").exec(made.stdout) ?? [];
    sizes.set(platform, (await stat(join(PROJECT_ROOT, file))).size);
    const { exitCode, stderr } = await runCommand("tar", ["xzf", join(PROJECT_ROOT, file)], folder);
    if (exitCode !== 0) throw new Error(`${file} cannot be unpacked: ${stderr}`);
    unpacked.set(platform, join(folder, file.replace(/^archives\/|\.tar\.gz$/g, "")));
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function partsOf(platform: Platform) {
  const root = unpacked.get(platform) ?? "";
  return { launcher: join(root, "posthorn"), node: join(root, "lib/node"), program: join(root, "lib/posthorn") };
}

/** What the first bytes of a binary say it is for. */
async function readMachine(file: string): Promise<string> {
  const handle = await open(file);
  const { buffer } = await handle.read(Buffer.alloc(20), 0, 20, 0);
  await handle.close();
  const MACHINES: Record<string, string> = { "7f454c46.3e00": "linux-x64", "7f454c46.b700": "linux-arm64" };
  if (buffer.readUInt32LE(0) === 0xfeedfacf) return buffer.readUInt32LE(4) === 0x0100000c ? "darwin-arm64" : "darwin";
  return MACHINES[`${buffer.toString("hex", 0, 4)}.${buffer.toString("hex", 18, 20)}`] ?? "unknown";
}

/** A webhook in, delivered; a stop, a start on the same data, and the event is still there. */
async function tryOut(run: (args: readonly string[], cwd: string) => Running) {
  const cwd = await mkdtemp(join(folder, "run-"));
  const sink = await openSinkServer();
  const sources = [{ name: "shop", kind: "github", secrets: [SECRET] }];
  const subscriptions = [{ name: "books", url: `${sink.url}/hook`, events: ["#"] }];
  await writeFile(join(cwd, "posthorn.yaml"), JSON.stringify({ sources, subscriptions }));
  const work = async (use: (url: string) => Promise<unknown>) => {
    const gateway = run(["start", "--port", "0", "--data-dir", join(cwd, "data")], cwd);
    await gateway.printed("gateway is listening");
    const url = /"url":"([^"]+)"/.exec(gateway.output().stdout)?.[1] ?? "";
    const used = await use(url);
    await until(async () => (await listDelivered(url)).length === 1, 60_000, "the delivery");
    gateway.child.kill("SIGTERM");
    return { used, exitCode: (await gateway.finished).exitCode };
  };
  try {
    const first = await work(async (url) => {
      const { status } = await fetch(`${url}/webhook/shop`, { method: "POST", body: BODY, headers: signed(BODY) });
      const [request] = await sink.received(1);
      return { status, delivered: JSON.parse(request?.body.toString() ?? "{}") as unknown };
    });
    return { first, second: await work(() => Promise.resolve("nothing new")) };
  } finally {
    await sink.close();
  }
}

function signed(body: string): Record<string, string> {
  return {
    "content-type": "application/json",
    "x-github-event": "issues",
    "x-github-delivery": "delivery-1",
    "x-hub-signature-256": `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`,
  };
}

async function listDelivered(url: string): Promise<unknown[]> {
  const headers = { authorization: `Bearer ${SETTINGS.POSTHORN_ADMIN_KEY}` };
  const answer = await fetch(`${url}/api/v1/deliveries?status=delivered`, { headers });
  return ((await answer.json()) as { data: unknown[] }).data;
}

const WORKED = {
  first: { used: { status: 200, delivered: { action: "opened", number: 1 } }, exitCode: 0 },
  second: { used: "nothing new", exitCode: 0 },
};

describe("an archive", () => {
  it.each(PLATFORMS)("for %s is small, and has Node and the native module of that platform only", async (platform) => {
    expect(sizes.get(platform)).toBeLessThan(MAX_BYTES);
    const { node, program } = partsOf(platform);
    expect(await readMachine(node)).toBe(platform);
    const prebuilds = join(program, "node_modules/@photostructure/sqlite/prebuilds");
    expect(await readdir(prebuilds)).toEqual([platform]);
    const [native = ""] = await readdir(join(prebuilds, platform));
    expect(await readMachine(join(prebuilds, platform, native))).toBe(platform);
  });

  it("has what the package has, and what the package needs", async () => {
    const { program } = partsOf(HERE);
    const manifest = JSON.parse(await readFile(join(program, "package.json"), "utf8")) as { version: string };
    const { launcher } = partsOf(HERE);
    const version = await startCommand(launcher, ["version"], folder, NOTHING).finished;
    expect(version).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(manifest.version) as string });
    await symlink(launcher, join(folder, "by-a-link"));
    const linked = await runCommand(join(folder, "by-a-link"), ["version"], folder);
    expect(linked).toEqual(version);
  });

  it("needs nothing of the machine: starts, delivers and goes on", async () => {
    const { launcher } = partsOf(HERE);
    const run = (args: readonly string[], cwd: string) =>
      startCommand(launcher, args, cwd, { ...NOTHING, ...SETTINGS });
    expect(await tryOut(run)).toEqual(WORKED);
  });

  it("is a test that can fail: without one of its packages nothing starts", async () => {
    const { launcher, program } = partsOf(HERE);
    await rm(join(program, "node_modules/node-gyp-build"), { recursive: true });
    const start = () => startCommand(launcher, ["start", "--port", "0"], folder, { ...NOTHING, ...SETTINGS });
    await expect(start().printed("gateway is listening")).rejects.toThrow("node-gyp-build");
  });

  it("for linux-arm64 starts, delivers and goes on, as far as an emulator can show", async (context) => {
    const emulator = findTool("qemu-aarch64-static");
    if (emulator === undefined) return skipWithoutService(context, "qemu-aarch64-static");
    const { node, program } = partsOf("linux-arm64");
    const command = ["-L", "/usr/aarch64-linux-gnu", node, join(program, "bin/posthorn.js")];
    const run = (args: readonly string[], cwd: string) =>
      startCommand(emulator, [...command, ...args], cwd, { ...NOTHING, ...SETTINGS });
    expect(await tryOut(run)).toEqual(WORKED);
  });
});
