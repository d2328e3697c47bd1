import { describe, expect, it } from "vitest";
import { n8nProxy } from "../../../examples/n8n-proxy/walk-through.ts";
import { runExample } from "../../../examples/support/example.ts";
import { createApiClient, until } from "../../support/api-client.ts";
import { captureOutput } from "../../support/captured-output.ts";

const NOTHING_LOST = { repeated: 0, deadLetters: 0, mode: "NORMAL" };

/** A gateway that takes n8n for any other server, whose health is what `/healthz` says. */
const forgetN8n = (yaml: string) =>
  yaml
    .replace(/^ +(target|retry_policy): .+\n/gm, "")
    .replace(/^targets:\n.*\n/m, "")
    .replace("mode: forward\n", 'mode: forward\n    health_url: "${N8N_URL}/healthz"\n    health_interval_s: 0.2\n');

describe("the example n8n-proxy", () => {
  it("loses no order while n8n is down, and stays for people who want to look around", async () => {
    const { output, text } = captureOutput();
    const enough = new AbortController();
    const running = runExample(n8nProxy, { keep: true }, { output, signal: enough.signal });
    await until(() => text().includes("Try in another terminal") || text().includes("✗"), undefined, "the end");
    const [, url = "", key = ""] = /POSTHORN_URL=(\S+) POSTHORN_API_KEY=(\S+)/.exec(text()) ?? [];
    const api = createApiClient({ url: () => url }, key);
    expect(text()).toContain(`${url}/  (sign in with the key)`);
    const status = await api.get("/status").catch(() => undefined);
    const countEvents = async () => ((await api.get("/api/v1/events?limit=500")).json["data"] as object[]).length;
    const before = await countEvents();
    await until(async () => (await countEvents()) > before + 1, undefined, "what goes on");
    enough.abort();
    const { figures, failures, exitCode } = await running;
    expect(failures).toEqual([]);
    expect(status?.json).toMatchObject({ mode: "NORMAL" });
    const answers = { 200: 2, 202: 10, 401: 1, 422: 1 };
    expect(figures).toEqual({ sent: 14, accepted: 12, answers, ran: 12, ...NOTHING_LOST });
    expect(exitCode).toBe(0);
    expect(text()).toContain("✓ Stopped: gateway, n8n.");
    await expect(api.get("/status")).rejects.toThrow("fetch failed");
  });

  it("loses some without what the gateway knows of n8n: the control", async () => {
    const { output, text } = captureOutput();
    const settings = { changeConfig: forgetN8n, patienceMs: 20_000 };
    const { failures, exitCode } = await runExample(n8nProxy, settings, { output });
    expect(failures[0]).toMatch(/^n8n has all 11 orders|^the mode NORMAL did not/);
    expect(exitCode).toBe(1);
    expect(text()).toContain("✗ Not as described");
  });

  it("brings orders home through a queue when there is no other way", async () => {
    const { output } = captureOutput();
    const { figures, failures } = await runExample(n8nProxy, { flags: { queue: true } }, { output });
    expect(failures).toEqual([]);
    expect(figures).toEqual({ sent: 17, accepted: 17, answers: { 200: 2, 202: 15 }, ran: 17, ...NOTHING_LOST });
  });
});
