import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createApiClient, until } from "../support/api-client.ts";
import { ADMIN_KEY, startGatewayProcess } from "../support/gateway-process.ts";
import { report } from "../support/report.ts";
import { openSinkServer } from "../support/sink-server.ts";

const MAX_SOCKETS = 64;
const TENANTS = 6;
/** For each tenant: together more than there are sockets. */
const HANGING = 20;
const GOOD = 50;
const FLOOD = 500;

/** R11 and R12 with real sockets, counted by what is still under way; how long it takes is a timed proof. */
describe("a gateway whose bad destinations never answer, and which one tenant floods", () => {
  it("delivers all to the others while the bad ones still hang", async () => {
    const folder = mkdtempSync(join(tmpdir(), "posthorn-hanging-"));
    const [sink, silent] = [await openSinkServer(), await openSinkServer({ answer: "hang" })];
    const env = { POSTHORN_LOG_LEVEL: "error", POSTHORN_MAX_SOCKETS: String(MAX_SOCKETS) };
    const gateway = startGatewayProcess({ folder, env });
    const url = await gateway.ready;
    const client = createApiClient({ url: () => url }, ADMIN_KEY);
    onTestFinished(async () => {
      await Promise.all([sink.close(), silent.close()]);
      await gateway.kill("SIGTERM");
      rmSync(folder, { recursive: true, force: true });
    });
    for (let number = 0; number < TENANTS; number++) {
      const tenant_id = `t-${number}`;
      await client.subscribe({ name: "good", tenant_id, url: `${sink.url}/good`, events: ["good"] });
      await client.subscribe({ name: "bad", tenant_id, url: silent.url, events: ["bad"], timeout: 300 });
    }
    await client.subscribe({ name: "flood", tenant_id: "flood", url: `${sink.url}/flood`, events: ["flood"] });
    const publish = async (event_type: string, tenant_id: string, events: number) => {
      const { status } = await client.publish(
        Array.from({ length: events }, (_, n) => ({ event_type, tenant_id, payload: { n } })),
      );
      expect(status).toBe(202);
    };

    // Those that have answered before are known to be quick.
    for (let number = 0; number < TENANTS; number++) await publish("good", `t-${number}`, 1);
    await publish("flood", "flood", 1);
    await client.settled();
    for (let number = 0; number < TENANTS; number++) await publish("bad", `t-${number}`, HANGING);
    await until(() => silent.requests.length > 0, undefined, "the first that hangs");
    await publish("flood", "flood", FLOOD);
    for (let number = 0; number < TENANTS; number++) await publish("good", `t-${number}`, GOOD);
    const countGood = () => sink.requests.filter(({ path }) => path === "/good").length;
    await until(() => countGood() === TENANTS * (GOOD + 1), undefined, "all of the others");
    await until(() => sink.requests.length === TENANTS * (GOOD + 1) + FLOOD + 1, undefined, "all of the flood");

    const hanging = await client.deliveries("status=sending");
    report(`R11 R12 real sockets: ${TENANTS * GOOD} delivered to the others while ${hanging.length} attempts hang`);
    expect(hanging.length).toBeGreaterThanOrEqual(TENANTS);
    expect(countGood()).toBe(TENANTS * (GOOD + 1));
    expect(await client.deadLetters()).toEqual([]);
  });
});
