// What only a process has: its exit code, its pipes and its signals. What commands say has tests of its own, in process.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { openCliFolder, type CliFolder } from "../support/run-cli.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";

let folder: CliFolder;
let gateway: TestGateway;

beforeAll(async () => {
  [folder, gateway] = await Promise.all([openCliFolder(), startTestGateway()]);
  Object.assign(folder.env, { POSTHORN_URL: gateway.url, POSTHORN_API_KEY: ADMIN_KEY });
  await writeFile(join(folder.path, "wrong.yaml"), "port: many\n");
});

afterAll(async () => {
  await folder.remove();
  await gateway.close();
});

describe("the process of a command", () => {
  it.each([
    [0, ["version"], ""],
    [1, ["events", "show", "nothing"], "(not_found)"],
    [2, ["strat"], "Did you mean start?"],
    [3, ["config", "show", "--config", "wrong.yaml"], "wrong.yaml:1:7"],
  ])("ends with %d after %j", async (expected, args, words) => {
    const { exitCode, stderr } = await folder.run(args);
    expect([exitCode, stderr]).toEqual([expected, expect.stringContaining(words)]);
  });

  it("ends with 1 when what it has printed is a failure", async () => {
    await writeFile(join(folder.path, "broken.liquid"), "{{ x");
    const { exitCode, stderr } = await folder.run(["templates", "preview", "broken.liquid", "--type", "a.b"]);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("a template cannot be read")]);
  });

  it("reads its standard input, and writes all of a long output into a pipe", async () => {
    const sending = folder.start(["send", "order.created", "--id", "long", "--data", "-"]);
    const payload = `{"long":"${"x".repeat(200_000)}"}`;
    sending.child.stdin?.end(payload);
    expect((await sending.finished).exitCode).toBe(0);
    expect((await folder.run(["events", "show", "long"])).stdout).toContain(payload);
  });

  it("ends orderly on Ctrl+C where it waits for events", async () => {
    const tail = folder.start(["tail"]);
    await tail.printed("following http", "stderr");
    tail.child.kill("SIGINT");
    const { exitCode, stderr } = await tail.finished;
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining("the gateway keeps running without this command")]);
  });

  it("ends at once with 130 on Ctrl+C where it waits for the gateway", async () => {
    const sending = folder.start(["send", "order.many", "--count", "10000000"]);
    await until(async () => (await gateway.get("/api/v1/events?event_type=order.many")).text.includes("evt_"));
    sending.child.kill("SIGINT");
    const { exitCode, stderr } = await sending.finished;
    expect(exitCode).toBe(130);
    expect(stderr).toMatch(/^posthorn: interrupted: at least \d+ of 10000000 were sent; the gateway delivers them/);
  });

  it("ends when its output is closed", async () => {
    const tail = folder.start(["tail"]);
    await tail.printed("following http", "stderr");
    tail.child.stdout?.destroy();
    let isEnded = false;
    void tail.finished.then(() => (isEnded = true));
    await until(async () => {
      await gateway.publish({ event_type: "order.created", payload: {} });
      return isEnded;
    });
    expect((await tail.finished).exitCode).toBe(0);
  });
});
