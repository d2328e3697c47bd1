import { describe, expect, it } from "vitest";
import { useCommandLine } from "../support/cli.ts";

const used = useCommandLine();

describe("posthorn targets", () => {
  it("lists them, shows one, sets its mode and drains it", async () => {
    const to = ["--to", "https://erp.example.com/hook", "--events", "order.*", "--target", "n8n", "--json"];
    const made = JSON.parse((await used.cli.run(["subscriptions", "create", "erp", ...to])).stdout) as { id: string };
    const health = ["--health-url", "none", "--target", "none", "--json"];
    expect(JSON.parse((await used.cli.run(["subscriptions", "update", made.id, ...health])).stdout)).toMatchObject({
      target: null,
      health_url: null,
      retry_policy: "standard",
    });

    const set = await used.cli.run(["targets", "mode", "erp", "QUEUE"]);
    expect(set.stdout).toMatch(/^mode +QUEUE \(by hand\)$/m);
    expect(set.stdout).toMatch(/^reason +set by an operator$/m);
    expect((await used.cli.run(["targets"])).stdout).toMatch(
      /^TARGET .*\nerp +default +QUEUE \(by hand\) +\S+.* down +0 /,
    );
    expect(JSON.parse((await used.cli.run(["targets", "show", made.id, "--json"])).stdout)).toMatchObject({
      name: "erp",
      forced: "QUEUE",
    });
    expect((await used.cli.run(["subscriptions", "drain", made.id])).stdout).toBe(`${made.id}: trying 0 deliveries\n`);
    expect((await used.cli.run(["targets", "mode", "erp", "auto"])).stdout).toMatch(/^mode +NORMAL$/m);
  });

  it("makes one, changes it and deletes it", async () => {
    const settings = ["--preset", "n8n", "--to", "https://automation.example.com", "--failures-to-open", "5", "--json"];
    expect(JSON.parse((await used.cli.run(["targets", "create", "home", ...settings])).stdout)).toMatchObject({
      name: "home",
      failures_to_open: 5,
    });
    const changed = await used.cli.run(["targets", "update", "home", "--failures-to-open", "2", "--json"]);
    expect(JSON.parse(changed.stdout)).toMatchObject({ name: "home", failures_to_open: 2 });
    expect((await used.cli.run(["targets", "delete", "home"])).exitCode).toBe(0);
    expect((await used.cli.run(["targets", "show", "home"])).exitCode).toBe(1);
  });

  it("says what is wrong: 1 for what is not there, 2 for a mode that is none", async () => {
    const gone = await used.cli.run(["targets", "show", "nobody"]);
    expect([gone.exitCode, gone.stderr]).toEqual([1, expect.stringContaining("(not_found)")]);
    const wrong = await used.cli.run(["targets", "mode", "erp", "SLEEP"]);
    expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringContaining("NORMAL, QUEUE, auto")]);
    expect((await used.cli.run(["targets", "shwo"])).stderr).toContain("show");
  });
});
