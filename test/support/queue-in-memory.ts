import { Type } from "typebox";
import { presentOwnRecord } from "../../src/destinations/own-record.ts";
import { secretSettings } from "../../src/destinations/secret-settings.ts";
import { ONE_BY_ONE } from "../../src/destinations/sender.ts";
import type { KindWithSender } from "../../src/destinations/senders.ts";

const Settings = Type.Object({ queue: Type.String() }, { additionalProperties: false });

/** A kind of destination that can be a fallback. Whoever opens the gateway brings the sender. */
export const QUEUE_IN_MEMORY: KindWithSender<{ queue: string }> = {
  name: "memory-queue",
  settings: Settings,
  queue: { isCountable: () => true, maxBytesOf: () => undefined },
  check: () => [],
  prepare: (settings) => ({ destination: settings, place: `memory:${settings.queue}` }),
  secrets: secretSettings<{ queue: string }>([], ["queue"]),
  present: ({ queue }) => ({ queue }),
  presentRecord: presentOwnRecord,
  open: () => ({ limitsOf: () => ONE_BY_ONE, send: (_, done) => done([]), close: () => Promise.resolve() }),
};
