import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startExampleQueue, refillQueue, type ExampleQueue } from "../support/example-queue.ts";
import { openCommandLine, type CommandLine } from "../support/cli.ts";
import { useAzurite } from "../support/services/shared.ts";
import { ADMIN_KEY, startTestGateway } from "../support/test-gateway.ts";

let cli: CommandLine;
let queue: ExampleQueue;

beforeEach(async () => {
  [cli, queue] = await Promise.all([openCommandLine(), startExampleQueue()]);
});
afterEach(async () => {
  await cli.remove();
  await queue.close();
});

const configure = (yaml: string) => writeFile(join(cli.path, "posthorn.yaml"), yaml);

describe("posthorn queue", () => {
  it("declares and checks without a gateway, and says what it cannot reach", async (context) => {
    const connectionString = await useAzurite(context);
    const name = `cli-${Date.now()}`;
    await configure(`
connections:
  - { name: default, kind: azure-storage-queue, connection_string: "${connectionString}" }
  - { name: default, kind: amqp, url: "amqp://user:pass-of-broker@127.0.0.1:1" }
subscriptions:
  - { name: queue, kind: azure-storage-queue, events: ["*"], destination: { queue: ${name} } }
`);
    const before = await cli.run(["queue", "check"]);
    expect(before.exitCode).toBe(1);
    expect(before.stdout).toBe(
      [
        "fail  amqp default: RabbitMQ at 127.0.0.1:1 cannot be reached: connection refused.",
        `fail  azure-storage-queue default: queue ${name} is missing`,
        `fail  azure-storage-queue default: queue ${name}-poison is missing`,
        "",
      ].join("\n"),
    );
    const declared = await cli.run(["queue", "declare", "--json"]);
    expect(declared.exitCode).toBe(1);
    expect(JSON.parse(declared.stdout)).toMatchObject({
      ok: false,
      results: [
        { kind: "amqp", error: expect.stringContaining("cannot be reached") as string },
        { kind: "azure-storage-queue", connection: "default", differences: [], error: null },
      ],
    });
    expect((await cli.run(["queue", "check"])).stdout).toContain(
      `ok    azure-storage-queue default: as configured: queue ${name}`,
    );
    expect(`${before.stdout}${declared.stdout}`).not.toContain("pass-of-broker");
  });

  it("warns of a fallback that cannot accept every event", async (context) => {
    const connectionString = await useAzurite(context);
    const name = `fallback-${Date.now()}`;
    const withClaims = (claimCheck: string) => `
connections: [{ name: default, kind: azure-storage-queue, connection_string: "${connectionString}" }]
subscriptions:
  - { name: n8n, events: ["*"], url: "https://n8n.example/hook", mode: forward, health_url: "https://n8n.example/healthz", fallback: home }
  - { name: home, kind: azure-storage-queue, events: [], destination: { queue: ${name}, format: message${claimCheck} } }
`;
    await configure(withClaims(""));
    await cli.run(["queue", "declare"]);
    const checked = await cli.run(["queue", "check"]);
    expect(checked.exitCode).toBe(0);
    expect(checked.stdout).toMatch(/^warn {2}home: As a fallback it accepts messages of at most 47616 bytes/m);
    const { ok, warnings } = JSON.parse((await cli.run(["queue", "check", "--json"])).stdout) as Record<
      string,
      unknown
    >;
    expect([ok, warnings]).toEqual([true, [expect.stringContaining("claim_check")]]);
    await configure(withClaims(", claim_check: { container: large-bodies }"));
    expect((await cli.run(["queue", "check"])).stdout).not.toContain("warn");
  });

  it("declares and checks one queue by its name, for a source that was created by API", async (context) => {
    cli.env["AZURE_STORAGE_CONNECTION_STRING"] = await useAzurite(context);
    const name = `named-${Date.now()}`;
    const run = (...args: string[]) => cli.run(["queue", ...args]);
    const nothing = await run("check");
    expect(nothing.stdout).toBe("");
    expect(nothing.stderr).toMatch(/no source or subscription of the configuration uses a queue.*--kind and --queue/s);
    expect(nothing.stderr).not.toContain("no connections");

    const named = ["--kind", "azure-storage-queue", "--queue", name];
    expect((await run("check", ...named)).stdout).toContain(`queue ${name} is missing`);
    const declared = await run("declare", ...named);
    expect([declared.exitCode, declared.stderr]).toEqual([0, ""]);
    expect((await run("check", ...named)).stdout).toContain(`as configured: queue ${name}`);

    const elsewhere = await run("declare", ...named, "--connection", "elsewhere");
    expect([elsewhere.exitCode, elsewhere.stdout]).toEqual([1, expect.stringContaining('no connection "elsewhere"')]);
    const unknown = await run("declare", "--kind", "kafka", "--queue", name);
    expect([unknown.exitCode, unknown.stderr]).toEqual([2, expect.stringContaining("amqp, azure-service-bus")]);
    expect((await run("declare", "--queue", name)).stderr).toContain("give --kind too");
  });

  it("lists what is parked, shows it, puts it back and deletes it", async () => {
    const gateway = await startTestGateway({ yaml: `sources: [${queue.source}]\n${queue.settings}\n` });
    Object.assign(cli.env, { POSTHORN_URL: gateway.url, POSTHORN_API_KEY: ADMIN_KEY });
    const run = async (...args: string[]) => {
      const { exitCode, stdout, stderr } = await cli.run(["queue", "parked", ...args]);
      return { exitCode, text: stdout + stderr };
    };
    expect((await run("list", "orders-queue")).text).toMatch(/1 +- +invalid +orders +14 B .*\n.*1 message is parked/s);
    expect((await run("list", "orders-queue", "--reason", "other")).text).toContain("0 messages match, of 1 parked");
    expect((await run("list", "orders-queue", "--reason", "invalid")).text).toContain("1 message matches, of 1 parked");
    expect((await run("show", "orders-queue", "1")).text).toContain('{"id": 1001,');
    expect(await run("purge", "orders-queue")).toMatchObject({
      exitCode: 1,
      text: expect.stringMatching(/1 parked message matches\. .*--confirm COUNT/s) as string,
    });
    expect(await run("requeue", "orders-queue", "--reason", "invalid")).toEqual({
      exitCode: 0,
      text: "1 message requeued\n",
    });
    refillQueue();
    expect(await run("purge", "orders-queue", "--confirm", "1")).toEqual({ exitCode: 0, text: "1 message deleted\n" });
    expect((await run("list", "orders-queue")).text).toContain("0 messages are parked");
    await gateway.close();
  });
});
