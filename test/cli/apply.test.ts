import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openCommandLine, type CommandLine } from "../support/cli.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

/** Of the gateway's own file: not this command's to change. */
const OWN = `
sources:
  - name: own-hooks
    kind: generic
`;

const FILE = `
port: 8080
tenants:
  - id: acme
    name: Acme
event_types:
  - name: order.created
    description: An order was placed
targets:
  - name: erp
    url: https://erp.example/in
subscriptions:
  - name: backup
    kind: http
    url: https://backup.example/hook
    events: ["order.*"]
    headers: { X-Key: very-secret-value-1 }
  - name: erp-orders
    url: https://erp.example/in
    events: ["order.created"]
    target: erp
    secret: whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD
sources:
  - name: github
    kind: github
    secrets: ["It's a Secret to Everybody"]
`;

let cli: CommandLine;
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({ yaml: OWN, env: { ALLOW_PRIVATE_DESTINATIONS: false } });
  cli = await openCommandLine(gateway);
});

afterAll(async () => {
  await cli.remove();
  await gateway.close();
});

const write = (text: string) => writeFile(join(cli.path, "wanted.yaml"), text);
const run = (command: "apply" | "diff", ...more: string[]) => cli.run([command, "-f", "wanted.yaml", ...more]);

describe("apply and diff", () => {
  it("show a plan, ask before anything is changed, and make it", async () => {
    await write(FILE);
    const planned = await run("diff", "--exit-code");
    expect([planned.exitCode, planned.stdout]).toEqual([
      4,
      "+ tenant acme\n+ event type order.created\n+ target erp\n+ subscription backup\n" +
        "+ subscription erp-orders\n+ source github\n",
    ]);
    expect(planned.stderr).toContain("port: settings of the gateway process itself, which are not applied");
    expect(planned.stderr).toContain("6 to create, 0 to change, 0 to delete, 0 unchanged");

    const unasked = await run("apply");
    expect([unasked.exitCode, unasked.stderr]).toEqual([2, expect.stringContaining("Add --yes")]);
    expect((await gateway.get("/api/v1/sources/github")).status).toBe(404);

    expect((await run("apply", "--yes")).exitCode).toBe(0);
    expect((await gateway.get("/api/v1/sources/github")).json).toMatchObject({ kind: "github", managed_by: "api" });
    const { json } = await gateway.get("/api/v1/subscriptions");
    expect(json).toMatchObject({ data: [{ name: "backup" }, { name: "erp-orders", target: "erp" }] });
  });

  it("change nothing when nothing is different, secrets included", async () => {
    const { exitCode, stdout, stderr } = await run("apply", "--yes");
    expect([exitCode, stdout, stderr]).toEqual([
      0,
      "",
      expect.stringContaining("no changes: all 6 resources are already as declared"),
    ]);
    expect((await run("diff", "--exit-code")).exitCode).toBe(0);
  });

  it("show each field before and after, and of secrets only that they change", async () => {
    await write(
      FILE.replace("https://backup.example/hook", "https://backup.example/other")
        .replace("very-secret-value-1", "very-secret-value-2")
        .replace("to Everybody", "to Nobody at all")
        .replace("name: Acme", "name: Acme Foods\n    quotas: { subscriptions: 5 }"),
    );
    const { stdout } = await run("diff");
    expect(stdout).toBe(
      "~ tenant acme\n    name: Acme -> Acme Foods\n    quotas.subscriptions: (not set) -> 5\n" +
        "~ subscription backup\n    url: https://backup.example/hook -> https://backup.example/other\n    secrets: changed\n" +
        "~ source github\n    secrets: changed\n",
    );
    expect(stdout).not.toContain("very-secret");
    expect((await run("apply", "--yes")).exitCode).toBe(0);
    expect((await run("diff", "--exit-code")).exitCode).toBe(0);
  });

  it("leave a pause that somebody made", async () => {
    await gateway.post("/api/v1/sources/github/pause", {});
    expect((await run("diff", "--exit-code")).exitCode).toBe(0);
    await gateway.post("/api/v1/sources/github/resume", {});
  });

  it("name what the gateway's own file declares, and skip it", async () => {
    await write(`${FILE}  - name: own-hooks\n    kind: github\n    secrets: [another-secret-1]\n`);
    const { exitCode, stderr } = await run("diff");
    expect([exitCode, stderr]).toEqual([
      0,
      expect.stringContaining("source own-hooks is skipped: the gateway's own posthorn.yaml declares it"),
    ]);
  });

  it("delete only with --prune, and only kinds that the file lists", async () => {
    await write(`subscriptions:\n  - { name: backup, url: "https://backup.example/hook", events: ["order.*"] }\n`);
    const kept = await run("diff");
    expect(kept.stdout).not.toContain("- ");
    const { stdout } = await run("apply", "--prune", "--yes");
    expect(stdout).toContain("- subscription erp-orders\n");
    expect(stdout).not.toContain("source");
    const { json } = await gateway.get("/api/v1/subscriptions");
    expect(json).toMatchObject({ data: [{ name: "backup" }] });
    expect((await gateway.get("/api/v1/sources/github")).status).toBe(200);
  });

  it("say what the gateway rejects, and change nothing then", async () => {
    await write(`subscriptions:\n  - { name: inside, url: "https://10.0.0.1/hook", events: ["order.*"] }\n`);
    const { exitCode, stderr } = await run("apply", "--yes");
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/subscription inside is rejected: .*private/);
    expect(stderr).toContain("nothing was changed");
  });

  it("end with 3 and the line of what is wrong with the file, and with 2 without one", async () => {
    await write("sources:\n  - name: github\n    kindd: github\n");
    const wrong = await run("diff");
    expect([wrong.exitCode, wrong.stderr]).toEqual([3, expect.stringContaining("wanted.yaml:3:5")]);
    expect((await cli.run(["diff", "-f", "missing.yaml"])).exitCode).toBe(3);
    const none = await cli.run(["apply"]);
    expect([none.exitCode, none.stderr]).toEqual([2, expect.stringContaining("See `posthorn apply --help`.")]);
  });
});
