import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { openCommandLine, type CommandLine } from "../support/cli.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

let cli: CommandLine;
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway();
  cli = await openCommandLine(gateway);
  await writeFile(join(cli.path, "token"), "canary-token-0123456789\n");
});

afterAll(async () => {
  await cli.remove();
  await gateway.close();
});

async function json(args: readonly string[]): Promise<Record<string, unknown>> {
  const { exitCode, stdout, stderr } = await cli.run([...args, "--json"]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  return JSON.parse(stdout) as Record<string, unknown>;
}

const send = (headers: Record<string, string>) =>
  fetch(`${gateway.url}/webhook/orders`, {
    method: "POST",
    body: "{}",
    headers: { "content-type": "application/json", ...headers },
  });

describe("posthorn sources", () => {
  it("makes, shows, lists, changes, pauses, closes and deletes them", async () => {
    const flags = [
      "--auth-header",
      "X-Token",
      "--auth-token-file",
      "token",
      "--only",
      "nothing",
      "--max-bytes",
      "2048",
    ];
    const made = await cli.run(["sources", "create", "orders", ...flags]);
    expect(made.stdout).toMatch(/^token in +X-Token$/m);
    expect(made.stdout).toMatch(/^takes +POST up to 2\.0 KiB$/m);
    expect(made.stdout + made.stderr).not.toContain("canary");
    expect((await send({})).status).toBe(401);
    expect(await (await send({ "x-token": "canary-token-0123456789" })).json()).toMatchObject({ cause: "filtered" });
    expect(await json(["sources", "update", "orders", "--only", "none"])).toMatchObject({
      only: null,
      max_bytes: 2048,
    });
    const [shown, got] = await Promise.all(["show", "get"].map((act) => cli.run(["sources", act, "orders"])));
    expect(shown?.stdout).toMatch(/^refuse replays +no$/m);
    expect(got?.stdout.split("\n", 1)).toEqual(shown?.stdout.split("\n", 1));
    expect((await cli.run(["sources"])).stdout).toMatch(/^SOURCE .*\norders +generic +default +active +all +api /);

    for (const [act, status, answer] of [
      ["pause", "paused", 503],
      ["close", "closed", 410],
      ["resume", "active", 202],
    ] as const) {
      expect((await cli.run(["sources", act, "orders"])).stdout).toBe(`orders: ${status}\n`);
      expect((await send({ "x-token": "canary-token-0123456789" })).status).toBe(answer);
    }
    const rotated = await cli.run(["sources", "rotate-secret", "orders"]);
    expect(rotated.stdout).toMatch(/^whsec_[\w+/]+=*\n$/);
    const hidden = await cli.run(["sources", "create", "hidden", "--path-token"]);
    const [, path] = /^path +(\/webhook\/hidden\/[\w-]{32})$/m.exec(hidden.stdout) ?? [];
    expect((await cli.run(["sources", "path", "hidden"])).stdout).toBe(`${path}\n`);
    expect((await cli.run(["sources", "delete", "hidden"])).stdout).toBe("hidden: deleted\n");
    const gone = await cli.run(["sources", "get", "hidden"]);
    expect([gone.exitCode, gone.stderr]).toEqual([1, expect.stringContaining("(not_found)")]);
    expect((await cli.run(["sources", "lst"])).exitCode).toBe(2);
    expect((await cli.run(["sources", "create", "x", "--auth-header", "X-A"])).exitCode).toBe(2);
  });

  it("lists what was not taken, and takes it in again", async () => {
    const find = async () =>
      (await json(["sources", "requests", "orders", "--cause", "filtered"]))["data"] as { id: string }[];
    await until(async () => (await find()).length === 1);
    const id = (await find())[0]?.id ?? "";
    expect((await cli.run(["sources", "requests", "orders"])).stdout).toMatch(
      new RegExp(`^${id} .* ignored +filtered`, "m"),
    );
    const replayed = await cli.run(["requests", "replay", id]);
    expect(replayed.stdout).toMatch(/^now +accepted$/m);
    expect(replayed.stdout).toMatch(/^new events +evt_/m);
    const again = await cli.run(["requests", "replay", id]);
    expect([again.exitCode, again.stderr]).toEqual([1, expect.stringContaining("(conflict)")]);
    expect((await cli.run(["requests", "show", id])).stdout).toMatch(/^outcome +ignored \(filtered\)$/m);
  });
});
