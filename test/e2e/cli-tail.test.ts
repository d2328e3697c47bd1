import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { findFreePort } from "../support/free-port.ts";
import { openCliFolder, type CliFolder, type RunningGateway } from "../support/run-cli.ts";

describe("posthorn tail", () => {
  let folder: CliFolder;
  let gateway: RunningGateway;
  let port: number;

  beforeEach(async () => {
    folder = await openCliFolder();
    port = await findFreePort();
    folder.env["POSTHORN_ADMIN_KEY"] = "test-admin-key-0123456789";
    folder.env["POSTHORN_PORT"] = String(port);
    gateway = await start();
  });
  afterEach(() => folder.remove());

  const start = () => folder.startGateway(["--port", String(port)]);
  const send = async (...args: readonly string[]) => expect((await folder.run(["send", ...args])).exitCode).toBe(0);
  const linesOf = (text: string) => text.split("\n").filter(Boolean);

  it("shows what happens, comes back by itself over a restart, and has every event once", async () => {
    const tail = folder.start(["tail", "--json", "--type", "order.#"]);
    await tail.printed("following http", "stderr");
    await send("order.created", "--id", "first");
    await send("milk.collected", "--id", "other");
    await tail.printed('"event_id":"first"');
    await gateway.stop("SIGKILL");
    await tail.printed("Trying again", "stderr");
    gateway = await start();
    await send("order.created", "--id", "second");
    await tail.printed('"event_id":"second"');
    await send("order.created", "--id", "third");
    await tail.printed('"event_id":"third"');
    tail.child.kill("SIGTERM");
    const { exitCode, stdout } = await tail.finished;
    const frames = linesOf(stdout).map(
      (line) => JSON.parse(line) as { type: string; id: string; data: { event_id: string } },
    );
    expect(frames.map(({ type, data }) => [type, data.event_id])).toEqual(
      ["first", "second", "third"].map((id) => ["event", id]),
    );
    expect(exitCode).toBe(0);
    const after = await folder.run(["tail", "--json", "--no-follow", "--after", frames[0]?.id ?? ""]);
    expect(linesOf(after.stdout).map((line) => (JSON.parse(line) as (typeof frames)[0]).data.event_id)).toEqual([
      "other",
      "second",
      "third",
    ]);
    for (const [flags, ids] of [
      [
        ["--since", "1h"],
        ["first", "other", "second", "third"],
      ],
      [["--since", "1h", "--id", "sec*"], ["second"]],
      [["--since", "1h", "--unmatched", "--label", "farm"], []],
      [["--since", "1h", "--severity", "critical"], []],
    ] as const) {
      const found = await folder.run(["tail", "--json", "--no-follow", "--frames", "event,alert", ...flags]);
      expect(linesOf(found.stdout).map((line) => (JSON.parse(line) as (typeof frames)[0]).data.event_id)).toEqual(ids);
    }
  });

  it("is a line for each frame on a terminal, with what senders wrote made harmless", async () => {
    const tail = folder.start(["tail", "--body"]);
    await tail.printed("following http", "stderr");
    await send(
      "order.created",
      "--id",
      "hostile",
      "--data",
      '{"a":"\\u001b[31m\\u202e\\r\\nfaked"}',
      "--source",
      "erp",
    );
    await tail.printed("hostile");
    tail.child.kill("SIGTERM");
    const { stdout } = await tail.finished;
    expect(linesOf(stdout)).toHaveLength(1);
    expect(stdout).toMatch(/^[\d:.]{12} {2}event {4}order\.created {2}hostile {2}erp, default, .*unmatched .*faked/);
    for (const obeyed of ["\u001b", "\u202e", "\r"]) expect(stdout).not.toContain(obeyed);
  });

  it("says what is wrong when it cannot begin", async () => {
    const wrongKey = await folder.run(["tail", "--key", "wrong"]);
    expect([wrongKey.exitCode, wrongKey.stderr]).toEqual([1, expect.stringContaining("unauthorized")]);
    const noPattern = await folder.run(["tail", "--type", "a b"]);
    expect([noPattern.exitCode, noPattern.stderr]).toEqual([1, expect.stringContaining("is not a pattern")]);
    expect((await folder.run(["tail", "--status", "odd"])).exitCode).toBe(2);
    await gateway.stop();
    const nobody = await folder.run(["tail"]);
    expect([nobody.exitCode, nobody.stderr]).toEqual([1, expect.stringContaining("Cannot reach a gateway")]);
  });

  it("ends when its output is closed", async () => {
    const tail = folder.start(["tail"]);
    await tail.printed("following http", "stderr");
    tail.child.stdout?.destroy();
    let isEnded = false;
    void tail.finished.then(() => (isEnded = true));
    await until(async () => {
      await send("order.created");
      return isEnded;
    });
    expect((await tail.finished).exitCode).toBe(0);
  });
});
