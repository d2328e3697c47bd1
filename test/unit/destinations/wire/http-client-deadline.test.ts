import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createAddressGuard } from "../../../../src/destinations/wire/address-guard.ts";
import type { HttpResult } from "../../../../src/destinations/wire/http.ts";
import { openHttpClient } from "../../../../src/destinations/wire/http-client.ts";
import { createSystemClock } from "../../../../src/model/clock.ts";
import { until } from "../../../support/api-client.ts";
import { createMovableTime } from "../../../support/movable-time.ts";
import { openSinkServer, type SinkAnswer, type SinkServer } from "../../../support/sink-server.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const CONNECTING = "net.client.socket";
const opened: { close(): Promise<void> }[] = [];
/** The client's end of the newest connection. */
let clientEnd: Socket | undefined;
const noteClientEnd = (message: unknown) => void ({ socket: clientEnd } = message as { socket: Socket });

beforeEach(() => {
  clientEnd = undefined;
  subscribe(CONNECTING, noteClientEnd);
});
afterEach(async () => {
  unsubscribe(CONNECTING, noteClientEnd);
  for (const each of opened.splice(0).reverse()) await each.close();
});

interface Scene {
  sink: SinkServer;
  post(timeoutMs: number, path?: string): Promise<HttpResult>;
  moveOn(byMs: number): void;
}

/** A client with a clock that is moved. */
async function open(answer: SinkAnswer): Promise<Scene> {
  const sink = await openSinkServer({ answer });
  const time = createMovableTime();
  const client = openHttpClient({
    guard: createAddressGuard({ allowPrivate: ["127.0.0.1/32"] }),
    allowHttp: true,
    clock: createSystemClock(time),
    connectionsPerHost: 1,
  });
  opened.push(sink, client);
  return {
    sink,
    moveOn: time.moveOn,
    post: (timeoutMs, path = "/") =>
      new Promise((resolve) => {
        client.request(
          { method: "POST", url: sink.url + path, headers: {}, body: Buffer.from("{}"), timeoutMs },
          resolve,
        );
      }),
  };
}

describe("the deadline", () => {
  it.each<SinkAnswer>(["hang", "drip headers", "drip body"])(
    "ends an answer that does not come: %s",
    async (answer) => {
      const { sink, post, moveOn } = await open(answer);
      let isOver = false;
      const waiting = post(HOUR_MS);
      void waiting.then(() => (isOver = true));
      await sink.received(1);
      await until(() => answer === "hang" || (clientEnd?.bytesRead ?? 0) > 0, undefined, "the beginning of the answer");
      const shorter = post(HOUR_MS - MINUTE_MS);
      moveOn(HOUR_MS - MINUTE_MS);
      expect((await shorter).kind).toBe("timed_out");
      await new Promise(setImmediate);
      expect(isOver).toBe(false);
      moveOn(MINUTE_MS);
      const result = await waiting;
      expect(result).toMatchObject({ kind: "timed_out", address: "127.0.0.1" });
      expect("response" in result && result.response?.status).toBe(answer === "drip body" ? 200 : undefined);
      await expect.poll(() => sink.open()).toBe(0);
    },
  );

  it("covers the wait for a connection and all hops", async () => {
    const { sink, post, moveOn } = await open("hang");
    const [first, second] = [post(2 * HOUR_MS), post(HOUR_MS)];
    await sink.received(1);
    moveOn(HOUR_MS);
    expect((await second).kind).toBe("timed_out");
    moveOn(HOUR_MS);
    expect((await first).kind).toBe("timed_out");
    expect(sink.requests).toHaveLength(1);
    sink.answerWith(({ path }) => (path === "/slow" ? "hang" : { redirectTo: "/slow" }));
    const redirected = post(HOUR_MS, "/a");
    await sink.received(3);
    moveOn(HOUR_MS);
    expect(await redirected).toMatchObject({ kind: "timed_out" });
  });
});
