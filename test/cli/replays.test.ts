import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { openCommandLine, type CommandLine } from "../support/cli.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

let cli: CommandLine;
let gateway: TestGateway;
let sink: SinkServer;
let id: string;

beforeAll(async () => {
  sink = await openSinkServer();
  gateway = await startTestGateway({
    yaml: `subscriptions: [{ name: orders, url: "${sink.url}", events: ["order.#"] }]`,
  });
  cli = await openCommandLine(gateway);
  const { data } = (await gateway.get("/api/v1/subscriptions")).json as { data: { id: string }[] };
  id = data[0]?.id ?? "";
});

afterAll(async () => {
  await cli.remove();
  await gateway.close();
  await sink.close();
});

async function makeDead(count: number): Promise<void> {
  const late = { event_type: "order.late", payload: {}, expires_at: "2020-01-01T00:00:00Z" };
  await gateway.publish(Array.from({ length: count }, () => late));
  await until(async () => (await gateway.deadLetters()).length === count);
}

const dlq = (...args: string[]) => cli.run(["dlq", ...args]);
const replay = (...args: string[]) => cli.run(["replay", ...args]);

describe("posthorn dlq", () => {
  it("counts, replays and waits until it is done", async () => {
    await makeDead(5);
    expect((await dlq("list", "--reason", "refused")).stderr).toContain("no dead letters found");
    expect((await dlq("list", "--reason", "expired", "--since", "1h")).stdout.split("\n")).toHaveLength(7);
    expect((await dlq("replay", "--reason", "expired", "--plan")).stdout).toBe("5 deliveries\n");
    const done = await dlq("replay", "--all", "--wait");
    expect([done.exitCode, done.stdout]).toEqual([
      0,
      expect.stringMatching(/^status +completed\n.*^results +5 delivered, 0 failed again, 0 waiting\n/ms),
    ]);
    await gateway.settled();
    expect(sink.requests).toHaveLength(5);
  });

  it("purges when the count is confirmed", async () => {
    await makeDead(3);
    const asked = await dlq("purge", "--subscription", id);
    expect([asked.exitCode, asked.stderr]).toEqual([1, expect.stringContaining("3 dead letters would be purged")]);
    expect(asked.stderr).toContain("--confirm COUNT");
    const purged = await dlq("purge", "--subscription", id, "--confirm", "3", "--wait", "--json");
    expect(JSON.parse(purged.stdout)).toMatchObject({ kind: "purge", status: "completed", done: 3 });
    expect((await dlq("purge", "--all", "--yes", "--wait")).exitCode).toBe(0);
  });

  it("never means everything by mistake", async () => {
    for (const args of [["replay"], ["replay", "dlv_1", "--all"], ["replay", "--all", "--reason", "gone"], ["purge"]]) {
      expect([args, (await dlq(...args)).exitCode]).toEqual([args, 2]);
    }
    expect((await dlq("replay", "--reason", "tired")).exitCode).toBe(2);
    expect((await dlq("purge", "--all", "--confirm", "many")).exitCode).toBe(2);
  });
});

describe("posthorn replay", () => {
  it("starts, shows, pauses, resumes and cancels", async () => {
    await gateway.post(`/api/v1/subscriptions/${id}/pause`);
    const started = await replay("start", "events", "--subscription", id, "--since", "1h", "--json");
    const job = JSON.parse(started.stdout) as { id: string };
    expect(job).toMatchObject({ kind: "events", status: "running", total: 8 });
    expect((await replay("pause", job.id)).stdout).toMatch(/^status +paused$/m);
    expect((await replay("resume", job.id)).stdout).toMatch(/^status +running$/m);
    expect((await replay("list", "--status", "running")).stdout).toMatch(
      new RegExp(`^${job.id} +events +running`, "m"),
    );
    expect((await replay("cancel", job.id)).stdout).toMatch(/^status +cancelled$/m);
    const waited = await replay("show", job.id, "--wait");
    expect([waited.exitCode, waited.stderr]).toEqual([1, expect.stringContaining("is cancelled")]);
    await gateway.post(`/api/v1/subscriptions/${id}/resume`);
    const again = await replay("start", "recover", "--subscription", id, "--since", "1h", "--include", "all", "--wait");
    expect([again.exitCode, again.stdout]).toEqual([0, expect.stringMatching(/^progress +0 of 0 opened again$/m)]);
  });

  it("says what it does not understand", async () => {
    expect((await replay("start", "everything")).exitCode).toBe(2);
    const refused = await replay("start", "recover", "--subscription", id);
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("filter.since is missing")]);
    expect((await replay("show", "rpl_none")).stderr).toContain("(not_found)");
    expect((await replay("start", "events", "--since", "soon")).exitCode).toBe(2);
  });
});
