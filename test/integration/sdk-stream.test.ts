import { describe, expect, it } from "vitest";
import { PosthornConnectionError, type Posthorn, type StreamFrame } from "../../sdk/src/index.ts";
import { until } from "../support/api-client.ts";
import { apiErrorOf, changing, freshName, useSdkWorld } from "../support/sdk-world.ts";

const world = useSdkWorld();

describe("a list", () => {
  it("goes on from page to page, and asks for no more than is read", async () => {
    const event_type = freshName("sdk.t");
    await world.posthorn.events.publishMany(Array.from({ length: 5 }, (_, n) => ({ event_type, payload: { n } })));
    world.proxy.doWith(() => "pass");
    const seen: string[] = [];
    for await (const { event_id } of world.posthorn.events.list({ event_type, limit: 2 })) seen.push(event_id);
    expect(new Set(seen).size).toBe(5);
    expect(world.proxy.requests).toHaveLength(3);
    const list = world.posthorn.events.list({ event_type, limit: 2 });
    expect((await list.toArray(3)).map(({ event_id }) => event_id)).toEqual(seen.slice(0, 3));
    expect(world.proxy.requests).toHaveLength(5);
    const { data, next_cursor } = await list.page();
    expect([data.length, next_cursor]).toEqual([2, expect.any(String)]);
    const sizes: number[] = [];
    for await (const page of list.pages()) sizes.push(page.data.length);
    expect(sizes).toEqual([2, 2, 1]);
  });
});

describe("an export", () => {
  it("gives event by event, with exact numbers, and does not end in the middle unnoticed", async () => {
    const event_type = freshName("sdk.t");
    const payloads = [{ n: 12345678901234567890n }, { text: "ä".repeat(100_000) }];
    await world.posthorn.events.publishMany(payloads.map((payload) => ({ event_type, payload })));
    const lines: unknown[] = [];
    for await (const { payload } of world.posthorn.events.export({ event_type })) lines.unshift(payload);
    expect(lines).toEqual(payloads);
    world.proxy.doWith(() => "cut the answer");
    const cut = async () => {
      for await (const line of world.posthorn.events.export({ event_type })) lines.push(line);
    };
    await expect(cut()).rejects.toBeInstanceOf(PosthornConnectionError);
    world.proxy.doWith(() => ({ status: 200, body: '{"a":1}\n{"a"' }));
    await expect(cut()).rejects.toThrow(/before the end of the export/);
  });
});

describe("the stream", () => {
  /** Reads until there are so many events, and gives the numbers in their payloads. */
  async function follow(
    client: Posthorn,
    event_type: string,
    act: (seen: number[]) => Promise<void> | void,
    count: number,
  ) {
    const controller = new AbortController();
    const seen: number[] = [];
    const frames: StreamFrame[] = [];
    for await (const frame of client.stream(
      { event_type, types: "event", body: "true" },
      { signal: controller.signal },
    )) {
      frames.push(frame);
      if (frame.event === "event") seen.push((frame.data.payload as { n: number }).n);
      await act(seen);
      if (seen.length >= count) break;
    }
    return { seen, frames };
  }
  const publish = (event_type: string, ...numbers: number[]) =>
    world.posthorn.events.publishMany(numbers.map((n) => ({ event_type, payload: { n } })));

  it("goes on after a lost connection and a restart of the gateway, without a gap", async () => {
    const event_type = freshName("sdk.t");
    let step = 0;
    const { seen, frames } = await follow(
      world.posthorn,
      event_type,
      async (soFar) => {
        if (step === 0 && soFar.length === 0) {
          step = 1;
          await publish(event_type, 1, 2);
        } else if (step === 1 && soFar.length === 2) {
          step = 2;
          world.proxy.cut();
          await publish(event_type, 3, 4);
        } else if (step === 2 && soFar.length === 4) {
          step = 3;
          await world.gateway.restart();
          await publish(event_type, 5);
        }
      },
      5,
    );
    expect(seen).toEqual([1, 2, 3, 4, 5]);
    expect(frames[0]).toMatchObject({ event: "ready", id: expect.any(String) });
    expect(frames.filter(({ event }) => event === "ready").length).toBeGreaterThanOrEqual(3);
  });

  it("would have a gap without its last id (control)", async () => {
    const event_type = freshName("sdk.t");
    const forgetful = world.connect({ fetch: changing(({ headers }) => delete headers["last-event-id"]) });
    let step = 0;
    const { seen } = await follow(
      forgetful,
      event_type,
      async (soFar) => {
        if (step === 0) {
          step = 1;
          await publish(event_type, 1);
        } else if (step === 1 && soFar.length === 1) {
          step = 2;
          world.proxy.cut();
          await publish(event_type, 2);
        } else if (step === 2) {
          step = 3;
          await publish(event_type, 3);
        }
      },
      2,
    );
    expect(seen).toEqual([1, 3]);
  });

  it("ends when all was shown, where it is not to follow", async () => {
    const event_type = freshName("sdk.t");
    await publish(event_type, 1);
    const frames: StreamFrame[] = [];
    const [first] = await world.posthorn.events.list({ event_type }).toArray(1);
    for await (const frame of world.posthorn.stream({ follow: false })) frames.push(frame);
    expect(frames.map(({ event }) => event)).toEqual(["ready"]);
    expect(first?.event_type).toBe(event_type);
  });

  it("gives a connection up over which nothing comes", async () => {
    world.proxy.doWith((_, index) => (index === 0 ? "hang" : "pass"));
    for await (const frame of world.posthorn.stream({}, { idleTimeoutMs: 200 })) {
      expect(frame.event).toBe("ready");
      break;
    }
    expect(world.proxy.requests.length).toBeGreaterThan(1);
  });

  it("throws what waiting does not mend, and ends when the caller says so", async () => {
    const read = async (client: Posthorn, signal?: AbortSignal) => {
      for await (const frame of client.stream({}, { signal })) expect(frame.event).toBe("ready");
    };
    expect((await apiErrorOf(read(world.connect({ key: "wrong" })))).code).toBe("unauthorized");
    const controller = new AbortController();
    const reading = read(world.posthorn, controller.signal);
    await until(() => world.proxy.requests.length === 2);
    controller.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
  });
});
