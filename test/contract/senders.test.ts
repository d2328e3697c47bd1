import { openHttpClient } from "../../src/destinations/wire/http-client.ts";
import { createAddressGuard } from "../../src/destinations/wire/address-guard.ts";
import { BATCH } from "../../src/destinations/batch/settings.ts";
import { HTTP } from "../../src/destinations/http/settings.ts";
import type { OpenSender, Sender } from "../../src/destinations/sender.ts";
import { SENDERS, type KindWithSender } from "../../src/destinations/senders.ts";
import { createSystemClock } from "../../src/model/clock.ts";
import { createBatchingKind, queueIsFull, refusedByQueue } from "../support/batching-kind.ts";
import { senderServices } from "../support/sender-services.ts";
import { createSessionKind, type Mood } from "../support/session-kind.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { NOON } from "../support/store-fixtures.ts";
import { createVirtualClock, createVirtualTime, moveClock } from "../support/virtual-clock.ts";
import { nextTurn } from "../support/watched-store.ts";
import { failed } from "../../src/model/outcome.ts";
import { SECRET, senderContract, type FarEnd, type SenderHarness } from "./sender-contract.ts";

/** For kinds that make requests: before a real server. */
function openWithSink<Settings extends object>(openSender: OpenSender<Settings>) {
  return async (): Promise<SenderHarness> => {
    const clock = createSystemClock();
    const guard = createAddressGuard({ allowPrivate: ["127.0.0.0/8"] });
    const client = openHttpClient({ guard, allowHttp: true, clock });
    const sink = await openSinkServer();
    const sender = openSender(senderServices({ clock, client })) as Sender;
    return {
      sender,
      place: sink.url,
      farEnd(does) {
        if (does === "hangs") sink.answerWith("hang");
        else if (does === "is down") sink.answerWith("reset");
        else sink.answerWith({ status: { takes: 200, refuses: 400, fails: 500, "is gone": 410 }[does] });
      },
      pass: () => Promise.resolve(),
      async close() {
        await sender.close();
        await client.close();
        await sink.close();
      },
    };
  };
}

senderContract("http", {
  kind: HTTP,
  outcomes: {
    takes: "delivered",
    refuses: "refused",
    fails: "failed",
    "is down": "failed",
    "is gone": "gone",
  },
  open: openWithSink(SENDERS.http),
  settings: ({ place }) => ({
    url: `${place}/hook`,
    headers: { "X-Api-Key": SECRET },
    auth: { type: "basic", username: "me", password: SECRET },
  }),
  settingsElsewhere: () => ({
    url: "https://elsewhere.example/hook",
    headers: { "X-Api-Key": SECRET },
    auth: { type: "basic", username: "me", password: SECRET },
  }),
});

senderContract("batch", {
  kind: BATCH,
  outcomes: {
    takes: "delivered",
    refuses: "refused",
    fails: "failed",
    "is down": "failed",
    "is gone": "gone",
  },
  open: openWithSink(SENDERS.batch),
  settings: ({ place }) => ({
    url: `${place}/rows`,
    max_rows: 5,
    headers: { "X-Api-Key": SECRET },
    auth: { type: "basic", username: "me", password: SECRET },
  }),
  settingsElsewhere: () => ({
    url: "https://elsewhere.example/rows",
    headers: { "X-Api-Key": SECRET },
    auth: { type: "basic", username: "me", password: SECRET },
  }),
});

/** In virtual time; nothing leaves. */
async function openVirtual(kind: KindWithSender, farEnd: (does: FarEnd) => void): Promise<SenderHarness> {
  const time = createVirtualTime(NOON);
  const clock = createVirtualClock(time);
  const sender = kind.open(senderServices({ clock }));
  return {
    sender,
    place: "orders",
    farEnd,
    pass: (ms) =>
      moveClock(time, ms, async () => {
        for (let turn = 0; turn < 3; turn++) await nextTurn();
      }),
    close: () => sender.close(),
  };
}

const batching = createBatchingKind();
senderContract("a kind that batches", {
  kind: batching.kind,
  outcomes: {
    takes: "delivered",
    refuses: "refused",
    fails: "failed",
    "is down": "failed",
    "is gone": { never: "a queue stays" },
  },
  open() {
    const { queue } = batching;
    return openVirtual(batching.kind, (does) => {
      if (does === "hangs") queue.hold();
      else queue.hold()();
      queue.answer = () => {
        if (does === "refuses") return refusedByQueue("not for this queue");
        if (does === "fails") return queueIsFull();
        return does === "is down" ? failed("connection lost", { result: "connection_error" }) : undefined;
      };
    });
  },
  settings: ({ place }) => ({ queue: place, token: SECRET, max_batch: 7 }),
  settingsElsewhere: () => ({ queue: "others", token: SECRET }),
});

const MOODS: Record<FarEnd, Mood> = {
  takes: "well",
  refuses: "refusing",
  fails: "failing",
  "is down": "down",
  "is gone": "gone",
  hangs: "hanging",
};

const session = createSessionKind();
senderContract("a kind that is slow and has a state", {
  kind: session.kind,
  outcomes: {
    takes: "delivered",
    refuses: "refused",
    fails: "failed",
    "is down": "failed",
    "is gone": "gone",
  },
  open: () => openVirtual(session.kind, (does) => void (session.host.mood = MOODS[does])),
  settings: ({ place }) => ({ host: place, password: SECRET }),
  settingsElsewhere: () => ({ host: "elsewhere", password: SECRET }),
});
