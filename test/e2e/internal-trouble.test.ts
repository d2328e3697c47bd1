import { DatabaseSync } from "@photostructure/sqlite";
import { join } from "node:path";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { PosthornError } from "../../src/model/errors.ts";
import { collectGarbage } from "../support/collect-garbage.ts";
import { report } from "../support/report.ts";
import { startTestGateway, type TestGateway, type TestGatewayOptions } from "../support/test-gateway.ts";

/** R5: senders drop an event on 4xx, so none is answered for trouble of our own. */
describe("trouble of the gateway itself", () => {
  const ways: Record<string, (gateway: TestGateway, n: number) => Promise<{ status: number; headers: Headers }>> = {
    webhook: (gateway, n) => gateway.webhook("any", `{"n":${n}}`, { "webhook-id": `id-${n}` }),
    publish: (gateway, n) => gateway.publish({ event_type: "a.b", payload: { n } }),
    batch: (gateway, n) => gateway.publish([{ event_type: "a.b", payload: { n } }]),
  };
  async function open(options: TestGatewayOptions = {}): Promise<TestGateway> {
    const gateway = await startTestGateway(options);
    onTestFinished(() => gateway.close());
    return gateway;
  }
  // A store that failed for good keeps a connection open until the process ends.
  afterAll(collectGarbage);
  const counts = { refused: 0, blamed: 0 };

  function count({ status }: { status: number }, into: typeof counts): void {
    if (status >= 400) into.refused++;
    if (status >= 400 && status < 500) into.blamed++;
  }

  async function check(gateway: TestGateway, way: string, n: number): Promise<number> {
    const answer = await (ways[way] as (typeof ways)[string])(gateway, n);
    count(answer, counts);
    const { status, headers } = answer;
    if (status === 503 && !(Number(headers.get("retry-after")) > 0)) throw new Error(`${way}: 503 without Retry-After`);
    return status;
  }

  it("is answered 503 with Retry-After while the disk is nearly full; deliveries and reads go on", async () => {
    const gateway = await open({ env: { DISK_MIN_FREE_BYTES: Number.MAX_SAFE_INTEGER } });
    for (const way of Object.keys(ways)) expect([way, await check(gateway, way, 1)]).toEqual([way, 503]);
    expect((await gateway.webhook("any", "{}")).json["code"]).toBe("store_full");
    expect((await gateway.get("/readyz")).json).toMatchObject({ status: "degraded", disk: { status: "low" } });
    expect((await gateway.get("/api/v1/events")).status).toBe(200);
    expect(await gateway.rejected("any")).toEqual([]);
  });

  it("is answered 503 while another process holds the database, and nothing is half done", async () => {
    const gateway = await open();
    await gateway.publish({ event_type: "a.b", payload: {} });
    const other = new DatabaseSync(join(gateway.dataDir, "posthorn.db"), { timeout: 0 });
    other.exec("begin immediate");
    const answers = await Promise.all(Object.keys(ways).map((way) => check(gateway, way, 2)));
    other.exec("rollback");
    other.close();
    expect(answers).toEqual([503, 503, 503]);
    const known = ((await gateway.get("/api/v1/events")).json["data"] as unknown[]).length;
    expect(known).toBe(1);
    for (const way of Object.keys(ways)) expect([way, await check(gateway, way, 2)]).toEqual([way, 202]);
  });

  // shows: B40
  it("is answered 503 when the store has failed for good, and calls for the end of the process", async () => {
    const gateway = await open();
    const other = new DatabaseSync(join(gateway.dataDir, "posthorn.db"), { timeout: 60_000 });
    other.exec("alter table events rename to events_elsewhere");
    for (const way of Object.keys(ways)) expect([way, await check(gateway, way, 3)]).toEqual([way, 503]);
    expect(gateway.fatal).toHaveLength(1);
    expect((await gateway.get("/api/v1/events")).status).toBe(500);
    expect(gateway.log.map(({ msg }) => msg)).toEqual(expect.arrayContaining(["the store failed", "request failed"]));
    other.exec("alter table events_elsewhere rename to events");
    other.close();
    await gateway.restart();
    for (const way of Object.keys(ways)) expect([way, await check(gateway, way, 4)]).toEqual([way, 202]);
  });

  // shows: B40
  it("never blames the sender", () => {
    report(`R5 4xx for internal trouble: ${counts.blamed} of ${counts.refused} refusals`);
    expect(counts.blamed).toBe(0);
    expect(counts.refused).toBeGreaterThan(5);
  });

  it("is a test that can fail: a gateway that takes its own trouble for the sender's is found", async () => {
    const gateway = await open({
      makers: {
        createIngest: (create) => (options) => ({
          ...create(options),
          accept: (_event, done) =>
            done({ kind: "rejected", stage: "accept", error: new PosthornError("invalid_field", "The disk is full.") }),
        }),
      },
    });
    const found = { refused: 0, blamed: 0 };
    for (const way of Object.keys(ways)) count(await (ways[way] as (typeof ways)[string])(gateway, 5), found);
    expect(found).toEqual({ refused: 3, blamed: 3 });
  });
});
