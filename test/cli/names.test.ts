import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openCommandLine, type CommandLine } from "../support/cli.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

let cli: CommandLine;
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway();
  cli = await openCommandLine(gateway);
  await succeed("tenants", "create", "acme");
  await succeed("tenants", "create", "globex");
  await create("erp");
  await create("shop", "--tenant", "acme");
  await create("shop", "--tenant", "globex");
});

afterAll(async () => {
  await cli.remove();
  await gateway.close();
});

async function succeed(...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await cli.run(args);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  return stdout;
}

const create = (name: string, ...more: string[]) =>
  succeed("subscriptions", "create", name, "--to", "http://127.0.0.1:9/hook", "--events", "order.*", ...more);

async function createKey(name: string, ...more: string[]): Promise<{ POSTHORN_API_KEY: string }> {
  const { stdout } = await cli.run(["keys", "create", "--name", name, ...more]);
  return { POSTHORN_API_KEY: stdout.trim() };
}

describe("names on the command line", () => {
  it("stand for ids, in arguments and in flags", async () => {
    expect(await succeed("subscriptions", "pause", "erp")).toBe("erp: inactive\n");
    expect(await succeed("subscriptions", "show", "erp")).toMatch(/^status\s+inactive$/m);
    await succeed("send", "order.created");
    expect(await succeed("deliveries", "--subscription", "erp", "--columns", "subscription,status")).toBe(
      "SUBSCRIPTION  STATUS\nerp           pending (paused)\n",
    );
    expect(await succeed("secrets", "show", "erp")).toContain("whsec_");
  });

  it("that are ambiguous are rejected, with the ids to choose from", async () => {
    const { exitCode, stderr } = await cli.run(["subscriptions", "pause", "shop"]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^posthorn: 2 subscriptions have the name "shop": sub_\w+ \(tenant acme\), sub_\w+ \(tenant globex\)\. Use an id\.\n$/,
    );
  });

  it("are shown for the ids of keys and subscriptions", async () => {
    const made = await createKey("ci");
    const args = ["subscriptions", "create", "crm", "--to", "http://127.0.0.1:9/crm", "--events", "order.*"];
    expect((await cli.run(args, made)).stdout).toMatch(/^created +\S+ \(now\) by the key ci$/m);
    expect(await succeed("subscriptions", "show", "crm")).toMatch(/^created +.* by the key ci$/m);
    expect(await succeed("audit")).toMatch(/ key ci +subscription\.create +crm +/);
    expect(await succeed("audit", "--columns", "actor,id")).toMatch(/\nkey:key_\w+ +sub_\w+\n/);
    // A key that may not list keys sees ids.
    const reader = await createKey("reader", "--scope", "read");
    expect((await cli.run(["subscriptions", "show", "crm"], reader)).stdout).toMatch(/^created +.* by key_\w+$/m);
  });

  it("that are unknown are rejected, with the nearest one", async () => {
    const { exitCode, stderr } = await cli.run(["subscriptions", "pause", "erpx"]);
    expect(exitCode).toBe(1);
    expect(stderr).toBe('posthorn: No subscription has the id or name "erpx"; did you mean erp?\n');
  });

  it.each([
    ["an event", ["send", "order.created", "--tenant", "amce"]],
    [
      "a subscription",
      ["subscriptions", "create", "x", "--to", "http://127.0.0.1:9", "--events", "#", "--tenant", "amce"],
    ],
    ["a source", ["sources", "create", "x", "--tenant", "amce"]],
    ["a key", ["keys", "create", "--tenant", "amce"]],
  ])("of a tenant that is misspelt create nothing: %s", async (_what, args) => {
    const { exitCode, stderr } = await cli.run(args);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('No tenant has the id or name "amce"; did you mean acme?');
    expect(stderr).toContain("`posthorn tenants create amce` creates it.");
    expect(await succeed("tenants")).not.toContain("amce");
  });
});

describe("lists", () => {
  it("show the columns that are asked for, by heading or by member, and times as they are", async () => {
    const table = await succeed("subscriptions", "--columns", "NAME,id,created_at", "--times", "absolute");
    expect(table).toMatch(/^NAME\s+ID\s+CREATED\n/);
    expect(table).toMatch(/^erp\s+sub_\w+\s+\d{4}-\d\d-\d\dT[\d:.]+Z/m);
  });

  it("say which columns there are when one is unknown", async () => {
    const { exitCode, stderr } = await cli.run(["subscriptions", "--columns", "nmae"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--columns: "nmae" is unknown; did you mean name?');
    expect(stderr).toContain("See `posthorn subscriptions --help`.");
    const { stderr: far } = await cli.run(["subscriptions", "--columns", "xyzxyz"]);
    expect(far).toContain('"xyzxyz" is unknown. Choose from name, ');
  });
});

describe("what the gateway rejects", () => {
  it("names the flag that sets it, where that has another name", async () => {
    const { exitCode, stderr } = await cli.run(["subscriptions", "create", "nowhere", "--events", "a.b"]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("url is missing");
    expect(stderr).toContain("The flag for it is --to.");
  });
});

describe("a wrong usage", () => {
  it.each([
    [["events", "show"], "See `posthorn events show --help`."],
    [["events", "shwo"], 'Unknown command "events shwo"; did you mean show?'],
    [["events", "list", "--lmit", "3"], "Did you mean --limit?"],
    [["evnts"], "Did you mean events?"],
    [["send"], "See `posthorn send --help`."],
  ])("%j says %s", async (args, expected) => {
    const { exitCode, stderr, stdout } = await cli.run(args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain(expected);
    expect(stderr).toMatch(/^posthorn: /);
  });
});

describe("an event that no subscription wants", () => {
  it("is sent, and that is said", async () => {
    expect(await succeed("send", "nobody.cares")).toMatch(/^evt_\w+ {2}stored; no subscription matches/);
  });
});
