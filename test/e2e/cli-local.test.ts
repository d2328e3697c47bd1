import { DatabaseSync } from "@photostructure/sqlite";
import { createServer } from "node:http";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSecretBox } from "../../src/registry/secret-box.ts";
import { writeState } from "../../src/registry/sources/source-settings.ts";
import { insertRecord } from "../support/insert-record.ts";
import { openCliFolder, type CliFolder } from "../support/run-cli.ts";
import { PROJECT_ROOT } from "../support/sample-checkout.ts";

interface Finding {
  check: string;
  result: "ok" | "warning" | "problem";
  detail: string;
}

let folder: CliFolder;
beforeEach(async () => {
  folder = await openCliFolder();
});
afterEach(() => folder.remove());

describe("usage", () => {
  it("prints help with examples for every command, and ends with 0", async () => {
    const commands = [[], ["start"], ["send"], ["sink"], ["status"], ["config", "show"], ["doctor"], ["events"]];
    const more = [
      ["events", "list"],
      ["deliveries"],
      ["deliveries", "show"],
      ["dlq", "list"],
      ["keys", "create"],
      ["backup"],
      ["restore"],
    ];
    const helps = await Promise.all([...commands, ...more].map((command) => folder.run([...command, "--help"])));
    for (const { exitCode, stdout, stderr } of helps) {
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
      expect(stdout).toMatch(/^Usage: posthorn/);
    }
    expect(helps[0]?.stdout).toContain("Examples:");
  });

  it.each([
    [["strat"], "Did you mean start?"],
    [["events", "shwo"], "did you mean show?"],
    [["start", "--prot", "1"], "Did you mean --port?"],
    [["deliveries", "--status", "lost"], "pending"],
    [["deliveries", "show"], "missing required argument"],
    [["keys", "create", "--local", "--url", "http://127.0.0.1:1"], "--local works without a gateway"],
    [["keys", "create", "--data-dir", "data"], "--local"],
    [["keys", "create", "--expires", "yesterday"], "is not a time in the future"],
    [["keys", "revoke"], "missing required argument"],
    [["tenants", "create", "a", "--max-subscriptions", "many"], "whole number"],
    [["send"], "Name an event type"],
    [["send", "a.b", "--data", "{no"], "--data is not JSON"],
    [["send", "a.b", "--data", "@missing.json"], "Cannot read missing.json"],
    [["send", "a.b", "--webhook", "shop"], "no event type of its own"],
    [["send", "--webhook", "shop", "--priority", "high"], "--priority cannot be used"],
    [["send", "a.b", "--count", "many"], "whole number"],
    [["events", "--since", "yesterday"], "is not a time"],
    [["status", "--url", "ftp://example.com"], "not the address of a gateway"],
    [["sink", "--port", "70000"], "--port"],
  ])("ends %j with 2 and a hint", async (args, hint) => {
    const { exitCode, stdout, stderr } = await folder.run(args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(/^posthorn: /);
    expect(stderr).toContain(hint);
  });

  it("prints its help and ends with 2 when there is no command", async () => {
    const { exitCode, stderr } = await folder.run([]);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^Usage: posthorn/);
  });

  it("ends client commands with 3 when the configuration that they need is wrong", async () => {
    await writeFile(join(folder.path, "posthorn.yaml"), "port: many\n");
    const { exitCode, stderr } = await folder.run(["status"]);
    expect(exitCode).toBe(3);
    expect(stderr).toContain("port");
  });
});

describe("posthorn config show", () => {
  it("prints where each value came from, and no secret", async () => {
    await writeFile(join(folder.path, "posthorn.yaml"), "port: 9999\n");
    const env = { POSTHORN_ADMIN_KEY: "very-secret-admin-key-0123456789" };
    const { exitCode, stdout } = await folder.run(["config", "show", "--data-dir", "kept"], env);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^port +9999 +\(file posthorn\.yaml:1:7\)$/m);
    expect(stdout).toMatch(/^data_dir +\S+\/kept +\(flag --data-dir\)$/m);
    expect(stdout).not.toContain("very-secret");
    const json = await folder.run(["config", "show", "--json"], env);
    expect(JSON.parse(json.stdout)).toMatchObject({ settings: { port: { value: 9999, from: "file" } } });
  });
});

describe("posthorn doctor", () => {
  async function examine(args: string[] = [], env = {}): Promise<{ exitCode: number | null; checks: Finding[] }> {
    const { exitCode, stdout } = await folder.run(["doctor", "--json", ...args], env);
    return { exitCode, checks: (JSON.parse(stdout) as { checks: Finding[] }).checks };
  }
  const failed = (checks: readonly Finding[]): string[] =>
    checks.filter(({ result }) => result === "problem").map(({ check }) => check);

  it("finds nothing wrong before the first start, and makes nothing", async () => {
    const { exitCode, checks } = await examine();
    expect(exitCode).toBe(0);
    expect(failed(checks)).toEqual([]);
    await expect(stat(join(folder.path, "data"))).rejects.toThrow("ENOENT");
  });

  it("looks at a running gateway and its database without disturbing them", async () => {
    const gateway = await folder.startGateway();
    const port = new URL(gateway.url).port;
    const { exitCode, checks } = await examine([], { POSTHORN_PORT: port });
    expect(exitCode).toBe(0);
    const details = checks.map(({ result, check, detail }) => `${result} ${check} ${detail}`);
    expect(details).toContainEqual(expect.stringMatching(/^ok gateway \S+ is ready; sync FULL$/));
    expect(details).toContainEqual(expect.stringMatching(/^ok store \S+ \(.*\) is sound; SQLite \S+, journal wal$/));
    expect(details).toContainEqual(expect.stringContaining("the counters agree with the rows"));
    expect((await gateway.stop()).exitCode).toBe(0);
    expect((await examine()).checks).toContainEqual({
      check: "gateway",
      result: "ok",
      detail: "no gateway is running on this data dir",
    });
  });

  it("finds a damaged database, ends with 1, and leaves it as it is", async () => {
    await (await folder.startGateway()).stop();
    const file = join(folder.path, "data/posthorn.db");
    const damaged = (await readFile(file)).fill(0xa5, 8192);
    await writeFile(file, damaged);
    const { exitCode, checks } = await examine();
    expect(exitCode).toBe(1);
    expect(failed(checks)).toContain("store");
    expect((await readFile(file)).equals(damaged)).toBe(true);
  });

  it("finds a source whose secret can be guessed, stored or declared", async () => {
    await (await folder.startGateway()).stop();
    const file = join(folder.path, "data");
    const settings = { auth: { header: "X-Token", token: "x" }, options: {}, pathToken: undefined };
    const state = { shown: { name: "old" }, ...settings, secrets: [], declaredSecrets: undefined };
    const box = createSecretBox((await readFile(join(file, "master.key"), "utf8")).trim());
    const db = new DatabaseSync(join(file, "posthorn.db"));
    insertRecord(db, "source", "old", writeState(state, "api", box));
    db.close();
    const stored = await examine();
    expect([stored.exitCode, failed(stored.checks)]).toEqual([1, ["sources"]]);
    expect(stored.checks).toContainEqual(
      expect.objectContaining({ detail: expect.stringContaining("old answers everybody 401: auth.token: has 1 byte") }),
    );
    const unknown = await examine([], { POSTHORN_MASTER_KEY: "another-master-key-0123456789abcdef" });
    expect([unknown.exitCode, failed(unknown.checks)]).toEqual([0, []]);

    const yaml = "sources: [{ name: new, kind: stripe, secrets: [whsec_AA==] }]\n";
    await writeFile(join(folder.path, "posthorn.yaml"), yaml);
    const declared = await examine();
    expect(declared.checks).toContainEqual(
      expect.objectContaining({ result: "problem", detail: expect.stringContaining("the declared source new") }),
    );
    const { exitCode, stderr } = await folder.run(["start", "--port", "0"]);
    expect([exitCode, stderr]).toEqual([3, expect.stringContaining("sources[0].secrets[0] (new): has 10 bytes")]);
  });

  it("looks at a gateway by its address, and says when there is none or another service", async () => {
    const gateway = await folder.startGateway();
    const { exitCode, checks } = await examine(["--url", gateway.url], { POSTHORN_PORT: "0" });
    expect([exitCode, failed(checks)]).toEqual([0, []]);
    const sameVersion = {
      check: "versions",
      result: "ok",
      detail: expect.stringContaining("the gateway and this command have the same version"),
    };
    expect(checks).toContainEqual(sameVersion);
    const byVariable = await examine([], { POSTHORN_PORT: "0", POSTHORN_URL: gateway.url });
    expect(byVariable.checks).toContainEqual(sameVersion);
    const port = new URL(gateway.url).port;
    await gateway.stop();
    expect(failed((await examine(["--url", gateway.url])).checks)).toEqual(["gateway"]);
    const other = createServer((_request, response) => response.end("hello"));
    await new Promise<void>((resolve) => other.listen(Number(port), "127.0.0.1", () => resolve()));
    const found = await examine([], { POSTHORN_PORT: port });
    await new Promise((resolve) => other.close(resolve));
    expect([found.exitCode, failed(found.checks)]).toEqual([1, ["port"]]);
  });

  it("says on which line of the file the configuration is wrong, and where the TLS files are not", async () => {
    await writeFile(join(folder.path, "posthorn.yaml"), "port: 1\nprot: 2\nlog_level: loud\n");
    const two = await examine();
    expect(two.checks.filter(({ check }) => check === "configuration").map(({ detail }) => detail)).toEqual([
      expect.stringContaining("posthorn.yaml:2:1"),
      expect.stringContaining("posthorn.yaml:3:"),
    ]);
    await writeFile(join(folder.path, "posthorn.yaml"), "tls_cert: none.pem\ntls_key: none.pem\n");
    expect(failed((await examine()).checks)).toEqual(["configuration", "configuration"]);
  });

  it("finds a disk that is too full, and a wrong configuration", async () => {
    await (await folder.startGateway()).stop();
    const full = await examine([], { POSTHORN_DISK_MIN_FREE_BYTES: String(2 ** 52) });
    expect(full.exitCode).toBe(1);
    expect(failed(full.checks)).toEqual(["disk"]);
    const wrong = await examine([], { POSTHORN_PORT: "many" });
    expect(wrong.exitCode).toBe(1);
    expect(failed(wrong.checks)).toEqual(["configuration"]);
  });
});

describe("what is built", () => {
  it("loads no package of hundreds of small files, for the sake of a cold start", async () => {
    const dist = join(PROJECT_ROOT, "dist");
    const files = (await readdir(dist, { recursive: true })).filter((name) => name.endsWith(".js"));
    const texts = await Promise.all(files.map((name) => readFile(join(dist, name), "utf8")));
    expect(texts.some((text) => text.includes("node_modules/typebox/"))).toBe(true);
    expect(files.filter((_, index) => /from "(?:typebox|fastify|ajv|pino)/.test(texts[index] ?? ""))).toEqual([]);
  });
});
