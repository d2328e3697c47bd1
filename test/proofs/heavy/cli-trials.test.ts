import { readdir } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { StartOwnGateway } from "../../../src/cli/trial/own-gateway.ts";
import { isSound, performSelftest } from "../../../src/cli/trial/selftest.ts";
import type { BrokenPromises } from "../../support/broken-promises.mjs";
import { ADMIN_KEY, startGatewayProcess } from "../../support/gateway-process.ts";
import { openCliFolder, type CliFolder } from "../../support/run-cli.ts";

let folder: CliFolder;
beforeAll(async () => {
  folder = await openCliFolder();
});
afterAll(() => folder.remove());

/** The test's own gateway in place of the command's, so that it can break a promise. */
function startBroken(broken: BrokenPromises): StartOwnGateway {
  return async (path) => {
    const gateway = startGatewayProcess({ folder: path, broken });
    const end = async (signal: "SIGKILL" | "SIGTERM") => void (await gateway.kill(signal));
    return {
      url: await gateway.ready,
      key: ADMIN_KEY,
      kill: () => end("SIGKILL"),
      stop: () => end("SIGTERM"),
    };
  };
}

describe("posthorn selftest", () => {
  it("kills a gateway under load, finds every event again, and leaves nothing behind", async () => {
    const { exitCode, stdout } = await folder.run(["selftest", "--seconds", "3", "--json"]);
    const found = JSON.parse(stdout) as { ok: boolean; kills: number; acknowledged: number; lost: string[] };
    expect(found).toMatchObject({ ok: true, lost: [], changed: [], undelivered: [] });
    expect(found.kills).toBeGreaterThanOrEqual(3);
    expect(found.acknowledged).toBeGreaterThan(0);
    expect(exitCode).toBe(0);
    expect(await readdir(folder.path)).toEqual([]);
  });

  it("is a test that can fail: it finds what was acknowledged before it was written", async () => {
    const account = await performSelftest({
      seconds: 1,
      startGateway: startBroken({ answerBeforeCommit: true, commitLate: true }),
      dir: folder.path,
      signal: new AbortController().signal,
      onProgress: () => undefined,
    });
    expect(account.lost.length).toBeGreaterThan(0);
    expect(isSound(account)).toBe(false);
    expect(await readdir(folder.path)).toEqual([]);
  });

  it("takes bytes that differ, and a run without a single event, for a failure", () => {
    const sound = { kills: 3, acknowledged: 9, lost: [], undelivered: [], changed: [], repeated: 2 };
    expect(isSound(sound)).toBe(true);
    expect(isSound({ ...sound, changed: ["evt_1"] })).toBe(false);
    expect(isSound({ ...sound, undelivered: ["evt_1"] })).toBe(false);
    expect(isSound({ ...sound, acknowledged: 0 })).toBe(false);
  });

  it("ends with what was told it, and a hint, when it cannot begin", async () => {
    expect(await folder.run(["selftest", "--seconds", "1"])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("--seconds"),
    });
    expect(await folder.run(["selftest", "--dir", "missing"])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("Name another with --dir."),
    });
  });

  it("cleans up after Ctrl+C", async () => {
    const running = folder.start(["selftest", "--seconds", "600"]);
    await expect.poll(async () => (await readdir(folder.path, { recursive: true })).join()).toContain("posthorn.db");
    running.child.kill("SIGINT");
    expect(await running.finished).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("Interrupted") });
    expect(await readdir(folder.path)).toEqual([]);
  });
});

describe("posthorn bench", () => {
  it("measures a gateway of its own beside a bare server, and leaves nothing behind", async () => {
    const { exitCode, stdout } = await folder.run(["bench", "--seconds", "2", "--json"], {
      // A gateway of the user's is none of its business.
      POSTHORN_URL: "http://127.0.0.1:1",
      POSTHORN_DATA_DIR: "elsewhere",
    });
    expect(exitCode).toBe(0);
    const figures = JSON.parse(stdout) as Record<string, number>;
    const measures = ["ingest_per_s", "delivered_per_s", "bare_per_s", "ratio_to_bare", "answer_p99_ms"];
    for (const name of [...measures, "fsync_median_ms"])
      expect([name, figures[name]]).toEqual([name, expect.any(Number)]);
    expect(figures["ingest_per_s"]).toBeGreaterThan(0);
    expect(figures["answer_p99_ms"]).toBeGreaterThanOrEqual(figures["answer_p50_ms"] ?? Number.NaN);
    expect(await readdir(folder.path)).toEqual([]);
  });
});
