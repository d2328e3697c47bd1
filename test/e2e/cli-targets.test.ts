import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openCliFolder, type CliFolder, type RunningGateway } from "../support/run-cli.ts";

let folder: CliFolder;
let gateway: RunningGateway;

beforeAll(async () => {
  folder = await openCliFolder();
  gateway = await folder.startGateway();
  folder.env["POSTHORN_URL"] = gateway.url;
  await gateway.printed("the new admin key is in", "stderr");
  folder.env["POSTHORN_API_KEY"] = (await readFile(join(folder.path, "data/admin.key"), "utf8")).trim();
});

afterAll(async () => {
  await gateway.stop();
  await folder.remove();
});

describe("posthorn targets", () => {
  it("lists them, shows one, sets its mode and drains it", async () => {
    const to = ["--to", "https://erp.example.com/hook", "--events", "order.*", "--target", "n8n", "--json"];
    const made = JSON.parse((await folder.run(["subscriptions", "create", "erp", ...to])).stdout) as { id: string };
    const health = ["--health-url", "none", "--target", "none", "--json"];
    expect(JSON.parse((await folder.run(["subscriptions", "update", made.id, ...health])).stdout)).toMatchObject({
      target: null,
      health_url: null,
      retry_policy: "standard",
    });

    const set = await folder.run(["targets", "mode", "erp", "QUEUE"]);
    expect(set.stdout).toMatch(/^mode +QUEUE \(by hand\)$/m);
    expect(set.stdout).toMatch(/^reason +an operator said so$/m);
    expect((await folder.run(["targets"])).stdout).toMatch(/^TARGET .*\nerp +default +QUEUE \(by hand\) +\S+.* ok +0 /);
    expect(JSON.parse((await folder.run(["targets", "show", made.id, "--json"])).stdout)).toMatchObject({
      name: "erp",
      forced: "QUEUE",
    });
    expect((await folder.run(["subscriptions", "drain", made.id])).stdout).toBe(`${made.id}: trying 0 deliveries\n`);
    expect((await folder.run(["targets", "mode", "erp", "auto"])).stdout).toMatch(/^mode +NORMAL$/m);
  });

  it("makes one, changes it and deletes it", async () => {
    const settings = ["--preset", "n8n", "--to", "https://automation.example.com", "--failures-to-open", "5", "--json"];
    expect(JSON.parse((await folder.run(["targets", "create", "home", ...settings])).stdout)).toMatchObject({
      name: "home",
      failures_to_open: 5,
    });
    const changed = await folder.run(["targets", "update", "home", "--failures-to-open", "2", "--json"]);
    expect(JSON.parse(changed.stdout)).toMatchObject({ name: "home", failures_to_open: 2 });
    expect((await folder.run(["targets", "delete", "home"])).exitCode).toBe(0);
    expect((await folder.run(["targets", "show", "home"])).exitCode).toBe(1);
  });

  it("says what is wrong: 1 for what is not there, 2 for a mode that is none", async () => {
    const gone = await folder.run(["targets", "show", "nobody"]);
    expect([gone.exitCode, gone.stderr]).toEqual([1, expect.stringContaining("(not_found)")]);
    const wrong = await folder.run(["targets", "mode", "erp", "SLEEP"]);
    expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringContaining("NORMAL, QUEUE, auto")]);
    expect((await folder.run(["targets", "shwo"])).stderr).toContain("show");
  });
});
