import fastify, { type FastifyInstance } from "fastify";
import { get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createSystemClock } from "../../src/model/clock.ts";
import { createGiveWay } from "../../src/api/export-gate.ts";
import { createExportGate } from "../../src/api/export-gate.ts";
import { addEventExportRoute } from "../../src/api/routes/events.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { until } from "../support/api-client.ts";
import { newEvent, stored } from "../support/store-fixtures.ts";
import { useFolder } from "../support/store-folder.ts";
import { withPort } from "../support/with-port.ts";

/** Together far more than sockets and streams hold. */
const EVENTS = 1500;
const BODY = Buffer.from(JSON.stringify({ filler: "x".repeat(20_000) }));

describe("an export of many events", () => {
  const folder = useFolder();

  async function openExport() {
    const store = await openSqliteStore({
      file: join(folder.path, "posthorn.db"),
      dedupeHorizonMs: 1,
      synchronous: "OFF",
      onFatal: (error) => {
        throw error;
      },
    });
    folder.onEnd(() => store.close());
    await Promise.all(Array.from({ length: EVENTS }, () => stored(store, newEvent({ body: BODY }))));
    const read = { bodies: 0 };
    const counted = withPort(store, "reads", {
      loadEvent(seq) {
        read.bodies++;
        return store.reads.loadEvent(seq);
      },
    });
    const app: FastifyInstance = fastify();
    app.decorateRequest("caller", undefined);
    const clock = createSystemClock({ startAt: Date.now() });
    const giveWay = createGiveWay({ isBusy: () => false });
    const exports = createExportGate({ maxExports: 8, maxExportsPerKey: 2, clock, giveWay });
    addEventExportRoute(app, { store: counted, exports });
    await app.listen({ host: "127.0.0.1", port: 0 });
    folder.onEnd(() => app.close());
    const { port } = app.server.address() as AddressInfo;
    const response = await new Promise<IncomingMessage>((resolve) => {
      get(`http://127.0.0.1:${port}/api/v1/events/export`, resolve);
    });
    return { app, read, response };
  }

  it("reads no further than its client, and ends when that leaves", async () => {
    const { app, read, response } = await openExport();
    response.pause();
    // Time enough to read them all, had it not stopped by itself.
    let [before, still] = [-1, 0];
    await until(() => {
      still = before > 0 && before === read.bodies ? still + 1 : 0;
      before = read.bodies;
      return still === 50;
    });
    response.destroy();
    const connections = () => new Promise<number>((resolve) => app.server.getConnections((_, count) => resolve(count)));
    await until(async () => (await connections()) === 0);
    expect(read.bodies).toBeLessThan(EVENTS * 0.9);
  });

  it("gives everything to a client that reads to the end", async () => {
    const { read, response } = await openExport();
    let lines = 0;
    for await (const chunk of response) {
      for (const byte of chunk as Buffer) if (byte === 10) lines++;
    }
    expect([lines, read.bodies]).toEqual([EVENTS, EVENTS]);
    expect(response.headers["content-type"]).toContain("application/x-ndjson");
  });
});
