import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { runCommand } from "../support/run-command.ts";
import { skipWithoutService } from "../support/skip.ts";
import { openSinkServer, type SinkRequest, type SinkServer } from "../support/sink-server.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { openVisits } from "../support/visits.ts";

const SHELLS = ["/bin/sh", "/bin/bash", "/bin/zsh"].filter((shell) => existsSync(shell));
const TRICKY = 'it\'s "quoted" $HOME $(id) `id` \\n \\ 100% !! é€🎺';
/** What every connection has of its own. */
const OF_CONNECTION = new Set(["host", "connection", "content-length", "transfer-encoding", "expect"]);

interface Sent {
  path?: string;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

let gateway: TestGateway;
let sink: SinkServer;
let folder: string;
const visits = openVisits();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "posthorn-curl-"));
  [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
});
afterAll(async () => {
  await Promise.all([gateway.close(), sink.close()]);
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async (context) => {
  const { exitCode } = await runCommand("sh", ["-c", "command -v curl && command -v base64"], folder);
  if (exitCode !== 0) skipWithoutService(context, "curl or base64");
});

/** With exactly these headers, in bytes as they are given. */
function send({ path = "/webhook/shop", headers, body }: Sent): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const sending = request(
      { host: "127.0.0.1", port: gateway.port, path, method: "POST", headers, agent: false },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.on("end", () => resolve(JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>));
      },
    );
    sending.on("error", reject);
    sending.end(body);
  });
}

async function copyCommand(path: string): Promise<string> {
  const { page, context } = await visits.visit(gateway.url, path);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy as curl" }).click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  return page.evaluate<string>("navigator.clipboard.readText()");
}

/** From a file, as a system lets no argument be as long as what is pasted may be. */
async function runIn(shell: string, command: string): Promise<SinkRequest> {
  const script = join(folder, "pasted");
  writeFileSync(script, command.replaceAll(gateway.url, sink.url));
  const before = sink.requests.length;
  const env = { HOME: folder, NO_PROXY: "*", POSTHORN_API_KEY: "a key" };
  const { exitCode, stderr } = await runCommand(shell, [script], folder, env);
  expect([shell, exitCode, exitCode === 0 ? "" : stderr]).toEqual([shell, 0, ""]);
  const received = sink.requests[before];
  if (received === undefined) throw new Error(`nothing was sent: ${command.slice(0, 2000)}`);
  return received;
}

function own(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_CONNECTION.has(name)));
}

const JSON_TYPE = { "content-type": "application/json" };
const TEXT_TYPE = { "content-type": "text/plain" };
const cases: Readonly<Record<string, Sent>> = {
  "JSON with everything that means something to a shell": {
    headers: { ...JSON_TYPE, accept: "*/*" },
    body: Buffer.from(
      ` ${JSON.stringify({ text: `${TRICKY}\n'`, n: 1 }, null, 2).replace("1", "12345678901234567890")}\n\n`,
    ),
  },
  "text that names a file": { headers: TEXT_TYPE, body: Buffer.from("@/etc/passwd") },
  "a text of several lines": { headers: TEXT_TYPE, body: Buffer.from(`${TRICKY}\n\n'${TRICKY}'\n`) },
  "control characters": { headers: TEXT_TYPE, body: Buffer.from("a\r\nb\u0000c\u001B[201~; touch gone\r") },
  "every byte": {
    headers: { "content-type": "application/octet-stream" },
    body: Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
  },
  "a megabyte of text": { headers: TEXT_TYPE, body: Buffer.from(`${TRICKY}\n`.repeat(20_000)) },
  "a megabyte of bytes": {
    headers: { "content-type": "image/png" },
    body: Buffer.alloc(1_000_000, Buffer.from([0, 255, 10, 13, 39, 92])),
  },
  "no body, and no type": { headers: {}, body: Buffer.alloc(0) },
  "a body without a type": { headers: {}, body: Buffer.from("{}") },
  "headers with everything that means something to a shell": {
    headers: {
      ...JSON_TYPE,
      "user-agent": "Sender's own/1.0",
      accept: "text/html",
      "x-quotes": `'"' $HOME $(id) \`id\` \\ \\0101 %s !!`,
      "x-empty": "",
      "x-latin": "caf\u00E9 \u00FF\tend",
      "x-at": "@/etc/passwd",
    },
    body: Buffer.from("{}"),
  },
  "a path with brackets and braces": {
    path: "/webhook/shop/a[1-3]/{b,c}/%20'$HOME'?x[]=1&y={z}&q=%27%24",
    headers: JSON_TYPE,
    body: Buffer.from("{}"),
  },
};

describe("a command that was copied", () => {
  it.each(Object.keys(cases))("sends the same once more, byte for byte: %s", async (name) => {
    const sent = cases[name] as Sent;
    const { event_id: id } = await send(sent);
    const command = await copyCommand(`/events/${String(id)}`);
    for (const shell of SHELLS) {
      const received = await runIn(shell, command);
      expect(received.method).toBe("POST");
      expect(received.path).toBe(sent.path ?? "/webhook/shop");
      expect(own(received.headers)).toEqual(sent.headers);
      expect(received.body.equals(sent.body)).toBe(true);
    }
    expect(existsSync(join(folder, "gone"))).toBe(false);
  });

  it("sends a request once more that was rejected", async () => {
    const body = Buffer.from(`{"broken": '${TRICKY}'`);
    await send({ path: "/webhook/broken", headers: JSON_TYPE, body });
    await until(async () => (await gateway.rejected("broken")).length === 1);
    const [refused] = await gateway.rejected("broken");
    const received = await runIn("/bin/sh", await copyCommand(`/requests/${String(refused?.id)}`));
    expect(own(received.headers)).toEqual(JSON_TYPE);
    expect(received.body.equals(body)).toBe(true);
  });

  it("publishes an event once more that was published, with the key of the person who runs it", async () => {
    const payload = `{"n": 12345678901234567890, "text": ${JSON.stringify(TRICKY)}}`;
    const body = `{"event_type":"order.paid","payload":${payload}}`;
    const { json } = await gateway.request("POST", "/api/v1/events", { body, headers: JSON_TYPE });
    const command = await copyCommand(`/events/${String(json["event_id"])}`);
    expect(command).not.toContain(ADMIN_KEY);
    const received = await runIn("/bin/sh", command);
    expect(received.path).toBe("/api/v1/events");
    expect(received.headers).toMatchObject({ ...JSON_TYPE, authorization: "Bearer a key" });
    expect(received.body.toString()).toBe(body);
  });

  it("would not be the same with other quotes, so that the tests above would see it (control)", async () => {
    const body = Buffer.from('{"home": "$HOME"}');
    const { event_id: id } = await send({ headers: JSON_TYPE, body });
    const command = await copyCommand(`/events/${String(id)}`);
    const careless = command.replace(`'${body.toString()}'`, `"${body.toString().replaceAll('"', '\\"')}"`);
    expect(careless).not.toBe(command);
    expect((await runIn("/bin/sh", careless)).body.equals(body)).toBe(false);
  });
});
