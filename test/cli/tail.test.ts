import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openCommandLine, type CommandLine } from "../support/cli.ts";
import { findFreePort } from "../support/free-port.ts";
import { openCliFolder } from "../support/run-cli.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";

describe("posthorn tail", () => {
  let cli: CommandLine;
  let gateway: TestGateway;

  beforeEach(async () => {
    gateway = await startTestGateway();
    cli = await openCommandLine(gateway);
  });
  afterEach(async () => {
    await cli.remove();
    await gateway.close();
  });

  const send = async (...args: readonly string[]) => expect((await cli.run(["send", ...args])).exitCode).toBe(0);
  const linesOf = (text: string) => text.split("\n").filter(Boolean);

  it("shows what happens, comes back by itself over a killed gateway, and has every event once", async () => {
    const folder = await openCliFolder();
    const port = String(await findFreePort());
    const start = () => folder.startGateway(["--port", port], { POSTHORN_ADMIN_KEY: ADMIN_KEY });
    let killed = await start();
    Object.assign(cli.env, { POSTHORN_URL: killed.url, POSTHORN_API_KEY: ADMIN_KEY });
    const tail = cli.start(["tail", "--json", "--type", "order.#"]);
    await tail.printed("following http", "stderr");
    await send("order.created", "--id", "first");
    await send("milk.collected", "--id", "other");
    await tail.printed('"event_id":"first"');
    await killed.stop("SIGKILL");
    await tail.printed("Trying again", "stderr");
    killed = await start();
    await send("order.created", "--id", "second");
    await tail.printed('"event_id":"second"');
    await send("order.created", "--id", "third");
    await tail.printed('"event_id":"third"');
    const { exitCode, stdout } = await tail.stop("SIGTERM");
    const frames = linesOf(stdout).map(
      (line) => JSON.parse(line) as { type: string; id: string; data: { event_id: string } },
    );
    expect(frames.map(({ type, data }) => [type, data.event_id])).toEqual(
      ["first", "second", "third"].map((id) => ["event", id]),
    );
    expect(exitCode).toBe(0);
    const after = await cli.run(["tail", "--json", "--no-follow", "--after", frames[0]?.id ?? ""]);
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
      const found = await cli.run(["tail", "--json", "--no-follow", "--frames", "event,alert", ...flags]);
      expect(linesOf(found.stdout).map((line) => (JSON.parse(line) as (typeof frames)[0]).data.event_id)).toEqual(ids);
    }
    await folder.remove();
  });

  it("is a line for each frame on a terminal, with what senders wrote made harmless", async () => {
    const tail = cli.start(["tail", "--body"]);
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
    const { stdout } = await tail.stop("SIGTERM");
    expect(linesOf(stdout)).toHaveLength(1);
    expect(stdout).toMatch(/^[\d:.]{12} {2}event {4}order\.created {2}hostile {2}erp, default, .*unmatched .*faked/);
    for (const obeyed of ["\u001b", "\u202e", "\r"]) expect(stdout).not.toContain(obeyed);
  });

  it("says what is wrong when it cannot begin", async () => {
    const wrongKey = await cli.run(["tail", "--key", "wrong"]);
    expect([wrongKey.exitCode, wrongKey.stderr]).toEqual([1, expect.stringContaining("unauthorized")]);
    const noPattern = await cli.run(["tail", "--type", "a b"]);
    expect([noPattern.exitCode, noPattern.stderr]).toEqual([1, expect.stringContaining("is not a pattern")]);
    expect((await cli.run(["tail", "--status", "odd"])).exitCode).toBe(2);
    await gateway.stop();
    const nobody = await cli.run(["tail"]);
    expect([nobody.exitCode, nobody.stderr]).toEqual([1, expect.stringContaining("Cannot reach a gateway")]);
  });
});
