import { describe, expect, it, type TestContext } from "vitest";
import type { ParkReason } from "../../src/intake/messages/open-message.ts";
import type { HoldLimits } from "../../src/queues/broker.ts";
import type { PulledSourceKind } from "../../src/sources/source-kind.ts";
import type { BrokenPromises } from "../support/broken-promises.mjs";
import { PULLED_CHECKS } from "./messages/checks.ts";

/** What a kind brings along to be held to what every pulled source promises. */
export interface PulledHarness {
  /** `now` is the clock of the gateway that takes, for queues that have no time of their own. */
  open(now: () => number, context: TestContext | undefined): Promise<PulledPlace>;
  /** Of the gateway that takes, to show that the checks can fail. */
  broken?: BrokenPromises;
  /** How long the queue may take to bring again, or to show, what was given back: 30 s, and less to see a check fail. */
  patienceMs?: number;
}

/** An empty queue. */
export interface PulledPlace {
  readonly kind: PulledSourceKind;
  readonly limits: HoldLimits;
  /** Of a source that takes from it. */
  readonly options: Readonly<Record<string, unknown>>;
  send(body: string | Buffer, message?: SentMessage): Promise<void>;
  /** Messages that would come, or come again. */
  countLeft(): Promise<number>;
  countHeld(): Promise<number>;
  listParked(): Promise<readonly { body: Buffer; reason: ParkReason }[]>;
  /** Where parked messages go is gone, or there again. */
  readonly parking: { remove(): Promise<void>; restore(): Promise<void> };
  /** Whoever holds messages has died: they come again. */
  loseTakers(): Promise<void>;
  /** The code that garbage is parked with; `unreadable_body` unless the queue holds whole events. */
  readonly unreadable?: string;
  close(): Promise<void>;
}

export interface SentMessage {
  id?: string | undefined;
  headers?: Record<string, string>;
  /** Its bytes go into the queue as they are, also where the others of that queue are whole events. */
  isBare?: boolean;
}

export function pulledSourceContract(name: string, harness: PulledHarness, limits: HoldLimits, all = PULLED_CHECKS) {
  describe(`a source of the kind ${name}`, () => {
    const checks = all.filter(({ appliesTo }) => appliesTo?.(limits) ?? true);
    it.for(checks)("$name", async ({ run }, context) => {
      const inContext: PulledHarness = { ...harness, open: (now) => harness.open(now, context) };
      expect(await run(inContext)).toBeUndefined();
    });
  });
}
