import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { loadConfig } from "../../../src/config/load.ts";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";

const EXAMPLE = join(PROJECT_ROOT, "examples/n8n-proxy");
const text = readFileSync(join(EXAMPLE, "config/posthorn.service"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "posthorn-unit-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** All values of a key, in their order. */
function valuesOf(unit: string, key: string): string[] {
  return [...unit.matchAll(new RegExp(`^${key}=(.*)$`, "gm"))].flatMap(([, value = ""]) => value.split(" "));
}

/** Folders that must be there before systemd starts anything: a fresh machine has none of them. */
function findMissingFolders(unit: string): string[] {
  return valuesOf(unit, "ReadWritePaths").filter((path) => !path.startsWith("-"));
}

/** What systemd makes, and gives to the user of the service. */
function listMadeFolders(unit: string): string[] {
  return [
    ...valuesOf(unit, "StateDirectory").map((name) => `/var/lib/${name}`),
    ...valuesOf(unit, "LogsDirectory").map((name) => `/var/log/${name}`),
  ];
}

describe("the systemd unit of the example", () => {
  it("needs no user and no folder that a fresh machine does not have", () => {
    expect(valuesOf(text, "DynamicUser")).toEqual(["true"]);
    expect(findMissingFolders(text)).toEqual([]);
    // As it once was: systemd refuses to start where /app/data is missing.
    expect(findMissingFolders("ReadWritePaths=/app/data /app/logs")).toEqual(["/app/data", "/app/logs"]);
  });

  it("writes only to folders that systemd has made for it", () => {
    const given = Object.fromEntries(valuesOf(text, "Environment").map((pair) => pair.split("=", 2)));
    const tokens = Object.fromEntries(
      ["ORDERS_TOKEN", "PAYMENTS_TOKEN", "USERS_TOKEN"].map((name) => [name, "t".repeat(48)]),
    );
    const secret = { N8N_SECRET: `whsec_${Buffer.alloc(32, 7).toString("base64")}` };
    const { config } = loadConfig({ cwd: EXAMPLE, env: { ...tokens, ...secret, ...given } });
    const made = listMadeFolders(text);
    expect(made).toContain(config.dataDir);
    expect(made).toContain(config.validationsDir);
    expect(made.some((path) => config.logFile?.startsWith(`${path}/`))).toBe(true);
    expect(listMadeFolders("StateDirectory=other")).not.toContain(config.dataDir);
  });

  it("reloads on SIGHUP, and does not start a wrong configuration again and again", () => {
    expect(text).toContain("ExecReload=/bin/kill -HUP $MAINPID");
    expect(valuesOf(text, "RestartPreventExitStatus")).toContain("3");
    expect(Number(valuesOf(text, "TimeoutStopSec")[0])).toBeGreaterThan(
      loadConfig({ cwd: folder, env: {} }).config.limits.shutdownTimeoutS,
    );
  });
});
