import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { until } from "../support/api-client.ts";
import { openCommandLine, type CommandLine } from "../support/cli.ts";
import type { Finished } from "../support/run-command.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const BIG_NUMBER = "12345678901234567890";
const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

let cli: CommandLine;
let gateway: TestGateway;
let sink: SinkServer;

beforeAll(async () => {
  sink = await openSinkServer();
  const declare = (name: string, pattern: string) =>
    `  - { name: ${name}, url: "${sink.url}/${name}", events: ["${pattern}"], retry_policy: { delays_s: [600] } }`;
  const subscriptions = [declare("orders", "order.#"), declare("hooks", "webhook.#")].join("\n");
  gateway = await startTestGateway({ yaml: `subscriptions:\n${subscriptions}\n` });
  cli = await openCommandLine(gateway);
  cli.env["POSTHORN_DATA_DIR"] = gateway.dataDir;
});

afterAll(async () => {
  await cli.remove();
  await gateway.close();
  await sink.close();
});

function json({ exitCode, stdout, stderr }: Finished): unknown {
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  return JSON.parse(stdout) as unknown;
}

async function arrived(path: string, part: string): Promise<void> {
  const isThere = () => sink.requests.some((one) => one.path === path && one.body.toString().includes(part));
  for (let count = sink.requests.length + 1; !isThere(); count++) await sink.received(count);
}

/** Publishes an event whose delivery dies at once, and resolves to the id of that delivery. */
async function makeDeadLetter(): Promise<string> {
  await gateway.settled();
  sink.answerWith({ status: 400, body: "no thanks" });
  const { event_id } = json(await cli.run(["send", "order.refused", "--json"])) as { event_id: string };
  await arrived("/orders", event_id);
  for (;;) {
    const { deliveries } = json(await cli.run(["events", "show", event_id, "--json"])) as {
      deliveries: { id: string; status: string }[];
    };
    if (deliveries[0]?.status === "dead") return deliveries[0].id;
  }
}

describe("posthorn send", () => {
  it("publishes an event, prints its id and deliveries, and changes no byte of the payload", async () => {
    const args = ["send", "order.created", "--data", `{"n":${BIG_NUMBER}}`, "--id", "big-1", "--priority", "high"];
    const sent = await cli.run(args);
    expect(sent).toEqual({ exitCode: 0, stdout: "big-1  1 delivery\n", stderr: "" });
    await arrived("/orders", BIG_NUMBER);
    const { stdout } = await cli.run(["events", "show", "big-1"]);
    expect(stdout).toContain(`{"n":${BIG_NUMBER}}`);
    expect(stdout).toMatch(/^priority +high$/m);
    expect((await cli.run(["events", "show", "big-1", "--json"])).stdout).toContain(BIG_NUMBER);

    expect((await cli.run(args)).stdout).toContain("duplicate");
    expect(json(await cli.run([...args, "--json"]))).toMatchObject({ event_id: "big-1", duplicate: true });
  });

  it("reads the payload from a file", async () => {
    await writeFile(join(cli.path, "order.json"), '{"from":"file"}');
    expect((await cli.run(["send", "order.created", "--data", "@order.json"])).exitCode).toBe(0);
    await arrived("/orders", '{"from":"file"}');
  });

  it("reads the payload from standard input", async () => {
    const sent = await cli.run(["send", "order.created", "--data", "-"], {}, '{"from":"stdin"}');
    expect(sent.exitCode).toBe(0);
    await arrived("/orders", '{"from":"stdin"}');
  });

  it("publishes many, each with an id of its own", async () => {
    const args = ["send", "order.many", "--count", "1200", "--id", "many", "--json"];
    const answer = json(await cli.run(args)) as {
      sent: number;
      deliveries: number;
      refused: number;
      events: { event_id: string }[];
    };
    expect(answer).toMatchObject({ sent: 1200, deliveries: 1200, refused: 0 });
    expect(new Set(answer.events.map(({ event_id }) => event_id)).size).toBe(1200);
    expect(answer.events.at(-1)?.event_id).toBe("many-1200");
  });

  it("posts a webhook with its headers, and needs no key for it", async () => {
    const args = ["send", "--webhook", "shop/orders", "--data", '{"hook":1}', "-H", "X-Kind: test"];
    const { exitCode, stdout } = await cli.run(args, { POSTHORN_API_KEY: undefined });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^evt_\w{26} {2}1 delivery\n$/);
    await arrived("/hooks", '{"hook":1}');
  });

  it("prints what the gateway rejects, and ends with 1", async () => {
    const { exitCode, stderr } = await cli.run(["send", "no good"]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^posthorn: .*event_type.*\(invalid_field\)\n$/);
  });
});

describe("what is listed and done", () => {
  it("lists events by type and time, as a table and as JSON", async () => {
    await cli.run(["send", "order.listed", "--id", "listed-1"]);
    const { stdout } = await cli.run(["events", "--type", "order.listed", "--since", "1h"]);
    expect(stdout).toMatch(/^EVENT +TYPE +SOURCE +STATUS/);
    expect(stdout).toMatch(/^listed-1 +order\.listed +api/m);
    const later = new Date(Date.now() + 60_000).toISOString();
    const none = json(await cli.run(["events", "--since", later, "--json"])) as { data: unknown[] };
    expect(none.data).toEqual([]);
  });

  it("finds events by what they hold, and rejects a filter that does not exist", async () => {
    const send = ["send", "order.searched", "--id", "searched-1", "--ordering-key", "customer-9"];
    await cli.run([...send, "--metadata", '{"team":"blue","size":7}', "--data", '{"note":"a Needle"}']);
    await cli.run(["send", "lonely.event", "--id", "searched-2"]);
    const found = async (...filters: readonly string[]) =>
      ((await cli.run(["events", ...filters])).stdout.match(/^searched-\d/gm) ?? []).join(" ");
    expect(await found("--text", "needle", "--type", "order.*")).toBe("searched-1");
    expect(await found("--label", "team=blue", "--label", "size")).toBe("searched-1");
    expect(await found("--ordering-key", "customer-9", "--id", "searched-*")).toBe("searched-1");
    expect(await found("--unmatched", "--id", "searched-*", "--status", "COMPLETED")).toBe("searched-2");
    expect(await found("--text", "needle", "--status", "FAILED", "--since", "1h")).toBe("");
    expect((await cli.run(["events", "--status", "DONE"])).exitCode).toBe(2);
    expect((await cli.run(["events", "--id", "a.b"])).stderr).toMatch(/^posthorn: .*id.*\(invalid_field\)/);
  });

  it("pages through a list", async () => {
    await cli.run(["send", "order.paged", "--count", "3"]);
    const page = ["events", "--type", "order.paged", "--limit", "2", "--json"];
    const first = json(await cli.run(page)) as { data: unknown[]; next_cursor: string };
    const second = json(await cli.run([...page, "--cursor", first.next_cursor])) as { data: unknown[] };
    expect([first.data.length, second.data.length]).toEqual([2, 1]);
  });

  it("shows a dead letter with its attempts, replays it, and delivers it", async () => {
    const id = await makeDeadLetter();
    expect((await cli.run(["dlq", "list"])).stdout).toMatch(new RegExp(`^${id} .*dead \\(refused\\)`, "m"));
    const shown = (await cli.run(["deliveries", "show", id])).stdout;
    expect(shown).toMatch(/^1 +.* first +failed +400/m);
    expect(shown).toContain("no thanks");

    sink.answerWith({ status: 200 });
    const count = sink.requests.length;
    expect((await cli.run(["dlq", "replay", id])).stdout).toMatch(new RegExp(`^${id}: (pending|sending|delivered)`));
    await sink.received(count + 1);
    await gateway.settled();
    expect((await cli.run(["dlq", "replay", id])).exitCode).toBe(1);
  });

  it("cancels what waits and tries it again when asked", async () => {
    sink.answerWith({ status: 503 });
    const { event_id } = json(await cli.run(["send", "order.waits", "--json"])) as { event_id: string };
    await arrived("/orders", event_id);
    const { deliveries } = json(await cli.run(["events", "show", event_id, "--json"])) as {
      deliveries: { id: string }[];
    };
    const id = deliveries[0]?.id ?? "";
    await until(async () => (await gateway.delivery(id)).attempts.length === 1);
    expect(json(await cli.run(["deliveries", "cancel", id, "--json"]))).toMatchObject({ status: "cancelled" });
    const again = await cli.run(["deliveries", "cancel", id]);
    expect(again.exitCode).toBe(1);
    expect(again.stderr).toContain("(illegal_transition)");

    sink.answerWith({ status: 200 });
    const count = sink.requests.length;
    expect((await cli.run(["deliveries", "retry", id])).exitCode).toBe(0);
    await sink.received(count + 1);
    await gateway.settled();
    expect((await cli.run(["events", "replay", event_id])).stdout).toContain("1 delivery opened again");
    await sink.received(count + 2);
  });

  it("prints the state of the gateway", async () => {
    const { exitCode, stdout } = await cli.run(["status"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^store +sqlite \S+, sync FULL$/m);
    expect(stdout).toMatch(/^orders +healthy +NORMAL/m);
    expect(json(await cli.run(["status", "--json"]))).toMatchObject({
      url: gateway.url,
      readiness: { status: "ok" },
      status: { mode: "NORMAL" },
    });
  });
});

describe("posthorn sink", () => {
  it("prints what arrives, checks its signatures, and fails as often as it should", async () => {
    const receiver = cli.start(["sink", "--port", "0", "--secret", SECRET, "--fail-first", "1", "--json"]);
    await receiver.printed("the sink listens on", "stderr");
    const [url] = /http:\S+/.exec(receiver.output().stderr) ?? [];
    const body = { name: "signed", url, events: ["signed.#"], secret: SECRET, retry_policy: { delays_s: [0.05] } };
    expect((await gateway.post("/api/v1/subscriptions", body)).status).toBe(201);
    await cli.run(["send", "signed.event", "--data", '{"signed":true}', "--id", "signed-1"]);
    await receiver.printed('"attempt":2');
    await fetch(`${url}/forged`, { method: "POST", body: "forged", headers: { "webhook-id": "forged" } });
    await receiver.printed("forged");
    const { exitCode, stdout } = await receiver.stop("SIGINT");
    expect(exitCode).toBe(0);
    const lines = stdout.trim().split("\n");
    const [first, second, forged] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(first).toMatchObject({
      event_type: "signed.event",
      event_id: "signed-1",
      attempt: 1,
      signature: { standard: true, plain: true },
      answer: 503,
    });
    expect(first?.["body"]).toContain('{"signed":true}');
    expect(second).toMatchObject({ attempt: 2, answer: 200 });
    expect(forged).toMatchObject({ signature: { standard: false, plain: false }, path: "/forged" });
  });

  it("is plain to read, and lets nothing that arrives reach the terminal's controls", async () => {
    const receiver = cli.start(["sink", "--port", "0", "--status", "202"]);
    await receiver.printed("the sink listens on", "stderr");
    const [url = ""] = /http:\S+/.exec(receiver.output().stderr) ?? [];
    const answer = await fetch(url, { method: "POST", body: "\u001b[2Jgone" });
    expect(answer.status).toBe(202);
    await receiver.printed("gone");
    const { stdout } = await receiver.stop("SIGTERM");
    expect(stdout).toMatch(/POST \/ {2}no id {2}8 B {2}-> 202\n {2}\\u001b\[2Jgone\n$/);
  });
});

describe("keys and addresses", () => {
  it("makes a key that works at once, with its scopes and no more, while the gateway runs", async () => {
    const made = await cli.run(["keys", "create", "--local", "--name", "reader", "--scope", "read"]);
    expect(made.exitCode).toBe(0);
    expect(made.stdout).toMatch(/^phk_[\w-]{43}\n$/);
    const env = { POSTHORN_API_KEY: made.stdout.trim() };
    expect((await cli.run(["status"], env)).exitCode).toBe(0);
    const refused = await cli.run(["send", "order.created"], env);
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain("(forbidden)");
  });

  it("makes no database where there is none", async () => {
    const { exitCode, stderr } = await cli.run(["keys", "create", "--local", "--data-dir", "elsewhere"]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("There is no database");
  });

  it("uses the key of the local data dir when none is given, says so, and gives it to no other machine", async () => {
    await writeFile(join(gateway.dataDir, "admin.key"), `${cli.env["POSTHORN_API_KEY"]}\n`);
    const without = { POSTHORN_API_KEY: undefined };
    const local = await cli.run(["status"], without);
    expect(local.exitCode).toBe(0);
    expect(local.stderr).toContain("using the key in");
    const mapped = gateway.url.replace("127.0.0.1", "[::ffff:127.0.0.1]");
    const foreign = await cli.run(["status", "--url", mapped], without);
    expect(foreign.exitCode).toBe(1);
    expect(foreign.stderr).not.toContain("using the key in");
  });

  it("sends no key to a machine that only the configuration of the folder names", async () => {
    // The sink, by an address that is not certainly this machine.
    const foreign = `host: "::ffff:127.0.0.1"\nport: ${new URL(sink.url).port}\n`;
    await writeFile(join(cli.path, "posthorn.yaml"), foreign);
    onTestFinished(() => rm(join(cli.path, "posthorn.yaml")));
    const before = sink.requests.length;
    const { exitCode, stderr } = await cli.run(["status"], { POSTHORN_URL: undefined });
    expect([exitCode, sink.requests.length - before]).toEqual([3, 0]);
    expect(stderr).toMatch(
      /^posthorn: The configuration of this folder names the host ::ffff:127\.0\.0\.1, .*--url.*\n$/,
    );
    // Said explicitly, it is asked; and what answers is not a gateway.
    sink.answerWith({ status: 200, body: "{}" });
    const asked = await cli.run(["status", "--url", sink.url]);
    expect(asked.stderr).toMatch(/^posthorn: Another service answers at .*, not a Posthorn gateway.*\n$/);
    expect([asked.exitCode, sink.requests.length > before]).toEqual([1, true]);
  });

  it("says what to do when the key is wrong, nobody is there, or it is no gateway", async () => {
    const wrong = await cli.run(["status", "--key", "phk_wrong"]);
    expect(wrong.stderr).toMatch(/^posthorn: .*\(unauthorized\).*POSTHORN_API_KEY.*\n$/);
    const nobody = await cli.run(["status", "--url", "http://127.0.0.1:2"]);
    expect(nobody.stderr).toMatch(/^posthorn: Cannot reach a gateway at http:\/\/127\.0\.0\.1:2 .*posthorn start.*\n$/);
    const other = await cli.run(["status", "--url", sink.url]);
    expect(other.stderr).toMatch(/^posthorn: Another service answers at .*, not a Posthorn gateway.*\n$/);
    expect([wrong.exitCode, nobody.exitCode, other.exitCode]).toEqual([1, 1, 1]);
  });
});
