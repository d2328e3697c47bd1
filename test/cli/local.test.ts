import { DatabaseSync } from "@photostructure/sqlite";
import { createServer } from "node:http";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSecretBox } from "../../src/resources/secret-box.ts";
import { writeState } from "../../src/resources/sources/source-record.ts";
import { COMMAND_GROUPS } from "../../src/cli/commands.ts";
import { createProgram } from "../../src/cli/program.ts";
import { openCommandLine, type CommandLine } from "../support/cli.ts";
import { insertRecord } from "../support/insert-record.ts";
import { openCliFolder } from "../support/run-cli.ts";
import { PROJECT_ROOT } from "../support/sample-checkout.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

interface Finding {
  check: string;
  result: "ok" | "warning" | "problem";
  detail: string;
}

let cli: CommandLine;
beforeEach(async () => {
  cli = await openCommandLine();
});
afterEach(() => cli.remove());

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
    const helps = await Promise.all([...commands, ...more].map((command) => cli.run([...command, "--help"])));
    for (const { exitCode, stdout, stderr } of helps) {
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
      expect(stdout).toMatch(/^Usage: posthorn/);
    }
    expect(helps[0]?.stdout).toContain("Examples:");
  });

  it("prints help that fits 80 columns, with each command below a heading", async () => {
    const { stdout } = await cli.run(["--help"]);
    for (const heading of Object.keys(COMMAND_GROUPS)) expect(stdout).toContain(`\n${heading}\n`);
    expect(stdout).not.toContain("\nCommands:");
    const names = createProgram().commands.map((command) => command.name());
    const shown = names.map(
      (name) => stdout.split("\n").filter((line) => line.trimStart().startsWith(`${name} `)).length,
    );
    expect(shown).toEqual(names.map(() => 1));
    for (const args of [[], ...names.map((name) => [name]), ["subscriptions", "create"], ["sources", "create"]]) {
      const { stdout: help } = await cli.run([...args, "--help"]);
      // Examples are copied, so they are not broken.
      const [text = ""] = help.split("Examples:");
      expect([args, text.split("\n").filter((line) => line.length > 80)]).toEqual([args, []]);
    }
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
    const { exitCode, stdout, stderr } = await cli.run(args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(/^posthorn: /);
    expect(stderr).toContain(hint);
  });

  it("prints its help and ends with 2 when there is no command", async () => {
    const { exitCode, stderr } = await cli.run([]);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^Usage: posthorn/);
  });

  it("ends client commands with 3 when the configuration that they need is wrong", async () => {
    await writeFile(join(cli.path, "posthorn.yaml"), "port: many\n");
    const { exitCode, stderr } = await cli.run(["status"]);
    expect(exitCode).toBe(3);
    expect(stderr).toContain("port");
  });
});

describe("posthorn config show", () => {
  it("prints where each value came from, and no secret", async () => {
    await writeFile(join(cli.path, "posthorn.yaml"), "port: 9999\n");
    const env = { POSTHORN_ADMIN_KEY: "very-secret-admin-key-0123456789" };
    const { exitCode, stdout } = await cli.run(["config", "show", "--data-dir", "kept"], env);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^port +9999 +\(file posthorn\.yaml:1:7\)$/m);
    expect(stdout).toMatch(/^data_dir +\S+\/kept +\(flag --data-dir\)$/m);
    expect(stdout).not.toContain("very-secret");
    const json = await cli.run(["config", "show", "--json"], env);
    expect(JSON.parse(json.stdout)).toMatchObject({ settings: { port: { value: 9999, from: "file" } } });
  });
});

describe("posthorn doctor", () => {
  let gateway: TestGateway | undefined;
  afterEach(async () => {
    await gateway?.close();
    gateway = undefined;
  });

  async function startHere(): Promise<TestGateway> {
    gateway = await startTestGateway();
    cli.env["POSTHORN_DATA_DIR"] = gateway.dataDir;
    return gateway;
  }

  /** The folder that a gateway leaves behind. */
  async function makeDataDir(): Promise<string> {
    const { stop, dataDir } = await startHere();
    await stop();
    return dataDir;
  }

  async function examine(args: string[] = [], env = {}): Promise<{ exitCode: number | null; checks: Finding[] }> {
    const { exitCode, stdout } = await cli.run(["doctor", "--json", ...args], env);
    return { exitCode, checks: (JSON.parse(stdout) as { checks: Finding[] }).checks };
  }
  const failed = (checks: readonly Finding[]): string[] =>
    checks.filter(({ result }) => result === "problem").map(({ check }) => check);

  it("finds nothing wrong before the first start, and makes nothing", async () => {
    const { exitCode, checks } = await examine();
    expect(exitCode).toBe(0);
    expect(failed(checks)).toEqual([]);
    await expect(stat(join(cli.path, "data"))).rejects.toThrow("ENOENT");
  });

  it("looks at a running gateway and its database without disturbing them", async () => {
    const folder = await openCliFolder();
    const other = await folder.startGateway();
    cli.env["POSTHORN_DATA_DIR"] = join(folder.path, "data");
    const { exitCode, checks } = await examine([], { POSTHORN_PORT: new URL(other.url).port });
    expect(exitCode).toBe(0);
    const details = checks.map(({ result, check, detail }) => `${result} ${check} ${detail}`);
    expect(details).toContainEqual(expect.stringMatching(/^ok gateway \S+ is ready; sync FULL$/));
    expect(details).toContainEqual(expect.stringMatching(/^ok store \S+ \(.*\) is sound; SQLite \S+, journal wal$/));
    expect(details).toContainEqual(expect.stringContaining("the counters agree with the rows"));
    expect((await other.stop()).exitCode).toBe(0);
    expect((await examine()).checks).toContainEqual({
      check: "gateway",
      result: "ok",
      detail: "no gateway is running on this data dir",
    });
    await folder.remove();
  });

  it("finds a damaged database, ends with 1, and leaves it as it is", async () => {
    const file = join(await makeDataDir(), "posthorn.db");
    const damaged = (await readFile(file)).fill(0xa5, 8192);
    await writeFile(file, damaged);
    const { exitCode, checks } = await examine();
    expect(exitCode).toBe(1);
    expect(failed(checks)).toContain("store");
    expect((await readFile(file)).equals(damaged)).toBe(true);
  });

  it("finds stored secrets that it cannot read, and a declared secret that can be guessed", async () => {
    const file = await makeDataDir();
    const settings = { auth: { header: "X-Token", token: "a-token-of-20-letters" }, options: {}, pathToken: undefined };
    const state = { shown: { name: "stored" }, ...settings, secrets: [], declaredSecrets: undefined };
    const box = createSecretBox((await readFile(join(file, "master.key"), "utf8")).trim());
    const db = new DatabaseSync(join(file, "posthorn.db"));
    insertRecord(db, "source", "stored", writeState(state, "api", box));
    db.close();
    const found = (detail: string) =>
      expect.objectContaining({ check: "sources", detail: expect.stringContaining(detail) });
    expect((await examine()).checks).toContainEqual(found("1 source is stored"));
    const unknown = await examine([], { POSTHORN_MASTER_KEY: "another-master-key-0123456789abcdef" });
    expect([unknown.exitCode, failed(unknown.checks)]).toEqual([0, []]);
    expect(unknown.checks).toContainEqual(found("their secrets cannot be read"));

    const yaml = "sources: [{ name: new, kind: stripe, secrets: [whsec_AA==] }]\n";
    await writeFile(join(cli.path, "posthorn.yaml"), yaml);
    const declared = await examine();
    expect(declared.checks).toContainEqual(
      expect.objectContaining({ result: "problem", detail: expect.stringContaining("the declared source new") }),
    );
  });

  it("looks at a gateway by its address, and says when there is none or another service", async () => {
    const { url, port, stop } = await startHere();
    const { exitCode, checks } = await examine(["--url", url], { POSTHORN_PORT: "0" });
    expect([exitCode, failed(checks)]).toEqual([0, []]);
    const sameVersion = {
      check: "versions",
      result: "ok",
      detail: expect.stringContaining("the gateway and this command have the same version"),
    };
    expect(checks).toContainEqual(sameVersion);
    const byVariable = await examine([], { POSTHORN_PORT: "0", POSTHORN_URL: url });
    expect(byVariable.checks).toContainEqual(sameVersion);
    await stop();
    expect(failed((await examine(["--url", url])).checks)).toEqual(["gateway"]);
    const other = createServer((_request, response) => response.end("hello"));
    await new Promise<void>((resolve) => other.listen(port, "127.0.0.1", () => resolve()));
    const found = await examine([], { POSTHORN_PORT: String(port) });
    await new Promise((resolve) => other.close(resolve));
    expect([found.exitCode, failed(found.checks)]).toEqual([1, ["port"]]);
  });

  it("says on which line of the file the configuration is wrong, and where the TLS files are not", async () => {
    await writeFile(join(cli.path, "posthorn.yaml"), "port: 1\nprot: 2\nlog_level: loud\n");
    const two = await examine();
    expect(two.checks.filter(({ check }) => check === "configuration").map(({ detail }) => detail)).toEqual([
      expect.stringContaining("posthorn.yaml:2:1"),
      expect.stringContaining("posthorn.yaml:3:"),
    ]);
    await writeFile(join(cli.path, "posthorn.yaml"), "tls_cert: none.pem\ntls_key: none.pem\n");
    expect(failed((await examine()).checks)).toEqual(["configuration", "configuration"]);
  });

  it("finds a disk that is too full, and a wrong configuration", async () => {
    await makeDataDir();
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
