import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { useCommandLine } from "../support/cli.ts";

const used = useCommandLine();

describe("what the command line says", () => {
  it("to a group that has no list: its help, and no complaint", async () => {
    const { exitCode, stdout, stderr } = await used.cli.run(["templates"]);
    expect(exitCode).toBe(2);
    expect(stdout + stderr).toContain("Usage: posthorn templates");
    expect(stderr).not.toContain("posthorn: ");
  });

  it("to an empty list: what there is none of", async () => {
    expect(await used.cli.run(["sources"])).toEqual({
      exitCode: 0,
      stdout: "",
      stderr: "posthorn: no sources found\n",
    });
    expect((await used.cli.run(["dlq"])).stderr).toBe("posthorn: no dead letters found\n");
    expect((await used.cli.run(["audit", "--act", "source.delete"])).stderr).toBe("posthorn: no audit entries found\n");
  });

  it("without a source for Smartsheet: how to create one", async () => {
    const { exitCode, stderr } = await used.cli.run(["smartsheet"]);
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining("posthorn sources create NAME --kind smartsheet")]);
    const { stdout } = await used.cli.run(["smartsheet", "list", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ source: null, webhooks: [] });
    expect((await used.cli.run(["smartsheet", "list", "--source", "nope"])).exitCode).toBe(1);
  });

  it("to a flag that is longer in truth: the whole flag", async () => {
    const { exitCode, stderr } = await used.cli.run(["sources", "create", "shop", "--secret", "x"]);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining("Did you mean --secret-file?")]);
  });

  it("to a name that is not allowed: the rule, in words", async () => {
    const { exitCode, stderr } = await used.cli.run(["sources", "create", "My Shop"]);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("name must be 1 to 64 letters, digits")]);
    expect(stderr).not.toContain("^[a-z");
  });

  it("to a file of variables that is not there, or is none", async () => {
    const missing = await used.cli.run(["config", "show", "--env-file", "nowhere.env"]);
    expect([missing.exitCode, missing.stderr]).toEqual([
      3,
      expect.stringContaining("nowhere.env: the file does not exist"),
    ]);
    await writeFile(join(used.cli.path, "shop.env"), "POSTHORN_DEFAULT_RETRY_POLICY=few\n");
    const { stdout } = await used.cli.run(["config", "show", "--env-file=shop.env", "--json"]);
    expect(stdout).toContain('"few"');
    await writeFile(join(used.cli.path, "shop.env"), "hello\n");
    const wrong = await used.cli.run(["config", "show", "--env-file", "shop.env"]);
    expect([wrong.exitCode, wrong.stderr]).toEqual([
      3,
      expect.stringContaining("shop.env:1: the line is not NAME=value"),
    ]);
    expect((await used.cli.run(["config", "show", "--env-file"])).exitCode).toBe(2);
  });

  it("to an address with the wrong protocol, or a port that cannot be used", async () => {
    const https = used.gateway.url.replace("http:", "https:");
    const { exitCode, stderr } = await used.cli.run(["events", "--url", https]);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`it speaks http. Use ${used.gateway.url} instead`)]);
    const bad = await used.cli.run(["events", "--url", "http://127.0.0.1:6000"]);
    expect(bad.stderr).toContain("The port 6000 belongs to another protocol");
    expect(bad.stderr).not.toContain("posthorn start");
  });
});

describe("posthorn trigger", () => {
  beforeAll(async () => {
    await writeFile(join(used.cli.path, "secret"), "It's a Secret to Everybody\n");
    await writeFile(join(used.cli.path, "body.json"), '{"from":"file"}');
    await used.cli.run(["sources", "create", "code", "--kind", "github", "--secret-file", "secret"]);
  });

  it("asks for a file with the secret", async () => {
    const { exitCode, stderr } = await used.cli.run(["trigger", "github", "push"]);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining("with --secret-file FILE.")]);
  });

  it.each([
    ["JSON", '{"from":"flag"}', "flag"],
    ["@FILE", "@body.json", "file"],
    ["a plain file name", "body.json", "file"],
  ])("takes its body as %s, like send", async (_, data, from) => {
    const sent = await used.cli.run(["trigger", "github", "push", "--secret-file", "secret", "--data", data, "--json"]);
    expect(sent.exitCode).toBe(0);
    const { answers } = JSON.parse(sent.stdout) as { answers: { said: { event_id: string } }[] };
    const { stdout } = await used.cli.run(["events", "show", answers[0]?.said.event_id ?? ""]);
    expect(stdout).toContain(`{"from":"${from}"}`);
  });

  it("names what is neither JSON nor a file", async () => {
    const { exitCode, stderr } = await used.cli.run([
      "trigger",
      "github",
      "push",
      "--secret-file",
      "secret",
      "--data",
      "no.json",
    ]);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining("Cannot read no.json")]);
  });
});
