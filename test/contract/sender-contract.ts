import { afterEach, beforeEach, describe, expect, it, type TestContext } from "vitest";
import type { DestinationKind } from "../../src/destinations/destination-kind.ts";
import type { Attempt, AttemptReport, Sender } from "../../src/destinations/sender.ts";
import type { Outcome } from "../../src/model/outcome.ts";
import { MASK } from "../../src/model/secrets.ts";
import {
  createDestinationKinds,
  checkKindSettings,
  fieldOf,
  settingsIn,
  withSettings,
} from "../../src/destinations/kinds.ts";
import type { Subscription, SubscriptionInput } from "../../src/model/subscription.ts";

/** What a kind tells of itself, to be held to what every kind of destination promises. */
export interface SenderCase {
  kind: DestinationKind;
  /** Opens the sender before a far end that does what it is told. */
  open(context: TestContext): Promise<SenderHarness>;
  /** Settings that lead there, with `SECRET` wherever a secret can be. */
  settings(harness: SenderHarness): object;
  /** The same, but for another place. */
  settingsElsewhere(harness: SenderHarness): object;
  /** Why its settings hold no secret, where that is so. */
  noSecrets?: string;
  /** The outcome for each thing that the far end can do; left out with a reason where it cannot. */
  outcomes: Record<Exclude<FarEnd, "hangs">, Outcome["kind"] | { never: string }>;
}

export interface SenderHarness {
  sender: Sender;
  /** Where the far end is, for the settings. */
  place: string;
  farEnd(does: FarEnd): void | Promise<void>;
  /** Lets the time of the sender pass; where it has the machine's, nothing. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

export type FarEnd = "takes" | "refuses" | "fails" | "is down" | "is gone" | "hangs";

export const SECRET = "s3cret-canary";
/** Of what is answered: longer than any machine needs. */
const TIMEOUT_MS = 60_000;
/** For a far end that hangs: however slow the machine is, its time is over some time later. */
const SHORT_TIMEOUT_MS = 100;

export function senderContract(name: string, sender: SenderCase): void {
  const { kind } = sender;
  const kinds = createDestinationKinds([kind]);

  describe(`the sender contract: ${name}`, () => {
    let harness: SenderHarness;
    beforeEach(async (context) => {
      harness = await sender.open(context);
    });
    afterEach(() => harness.close());

    const inputWith = (settings: object): SubscriptionInput =>
      withSettings({ name: "a", kind: kind.name, events: ["#"] }, kind, settings);

    function makeSubscription(timeoutMs = TIMEOUT_MS): Subscription {
      const settings = sender.settings(harness);
      const input = inputWith(settings);
      const { destination, place } = kind.prepare(settings, { shared: input, target: undefined });
      const facts = { seq: 1, version: 1, id: "sub_1", tenantId: "default", name: "a", kind: kind.name };
      const rest = { status: "active", timeoutMs, secrets: [SIGNING_SECRET], mode: "queue" };
      return { ...facts, destination, place, ...rest } as unknown as Subscription;
    }

    function makeAttempts(count: number, timeoutMs?: number): Attempt[] {
      const subscription = makeSubscription(timeoutMs);
      return Array.from({ length: count }, (_, n) => ({
        deliveryId: `dlv_${n}`,
        number: 1,
        generation: 1,
        event: { ...EVENT, id: `evt_${n}` },
        subscription,
      }));
    }

    /** Fails when it is told of more than once, or not within the deadline and a second. */
    async function send(attempts: readonly Attempt[]): Promise<readonly AttemptReport[]> {
      const told: (readonly AttemptReport[])[] = [];
      const reported = new Promise<void>((resolve) => {
        harness.sender.send(attempts, (reports) => {
          told.push(reports);
          resolve();
        });
      });
      await harness.pass(TIMEOUT_MS + 1000);
      await reported;
      await harness.pass(TIMEOUT_MS);
      expect(told).toHaveLength(1);
      return told[0] as readonly AttemptReport[];
    }

    const batches = () => [...new Set([1, 2, harness.sender.limitsOf(makeSubscription()).maxBatch])];
    const allowed = () => batches().filter((count) => count <= harness.sender.limitsOf(makeSubscription()).maxBatch);

    it("reports on each delivery of every allowed batch, in the order given", async () => {
      await harness.farEnd("takes");
      for (const count of allowed()) {
        const reports = await send(makeAttempts(count));
        expect(reports.map(({ outcome }) => outcome.kind)).toEqual(Array.from({ length: count }, () => "delivered"));
        for (const { durationMs, startedAt, record } of reports) {
          expect([durationMs >= 0, Number.isFinite(startedAt), typeof record.place]).toEqual([true, true, "string"]);
        }
      }
    });

    for (const [does, kindOfOutcome] of Object.entries(sender.outcomes)) {
      if (typeof kindOfOutcome !== "string") continue;
      it(`says "${kindOfOutcome}" when the far end ${does}, as a value`, async () => {
        await harness.farEnd(does as FarEnd);
        const [report] = await send(makeAttempts(1));
        const { outcome } = report as AttemptReport;
        expect(outcome.kind).toBe(kindOfOutcome);
        expect(outcome.result === "success").toBe(kindOfOutcome === "delivered");
        expect(outcome.error === undefined).toBe(kindOfOutcome === "delivered");
        expect(SIGNS[does as FarEnd] ?? [outcome.says]).toContain(outcome.says);
      });
    }

    it("gives up at the deadline, which says that the destination is ill", async () => {
      await harness.farEnd("hangs");
      const [report] = await send(makeAttempts(1, SHORT_TIMEOUT_MS));
      expect(report?.outcome).toMatchObject({ kind: "failed", result: "timeout", says: "ill" });
    });

    it("never throws, whatever is wrong with an attempt", async () => {
      await harness.farEnd("takes");
      const [attempt] = makeAttempts(1) as [Attempt];
      const odd = [
        { ...attempt, event: { ...EVENT, type: "line\nbreak" } },
        { ...attempt, event: { ...EVENT, occurredAt: Number.NaN } },
        { ...attempt, event: { ...EVENT, body: Buffer.alloc(0) } },
        { ...attempt, request: "no JSON" },
      ];
      for (const one of odd) {
        const [report] = await send([one]);
        expect(["delivered", "failed", "refused", "blocked"]).toContain(report?.outcome.kind);
      }
    });

    it("sends what has a long type of content, a long session or an early time, and stays well", async () => {
      await harness.farEnd("takes");
      const [attempt] = makeAttempts(1) as [Attempt];
      const contentType = `multipart/form-data; boundary=${"b".repeat(300)}`;
      const long = [
        { ...attempt, event: { ...attempt.event, contentType } },
        { ...attempt, details: JSON.stringify({ session_id: "ü".repeat(255) }) },
        { ...attempt, event: { ...attempt.event, orderingKey: "ü".repeat(255) } },
        { ...attempt, event: { ...attempt.event, id: "ü".repeat(128) } },
        { ...attempt, event: { ...attempt.event, occurredAt: Date.UTC(1969, 0, 1) } },
      ];
      for (const one of long) {
        const [report] = await send([one]);
        expect(report?.outcome).toMatchObject({ kind: "delivered", says: "well" });
      }
    });

    it("keeps no secret in what it reports", async () => {
      for (const does of ["takes", "refuses", "fails", "is down"] as const) {
        await harness.farEnd(does);
        const reports = await send(makeAttempts(1));
        const shown = reports.map(({ outcome, record }) => [outcome, record, kind.presentRecord(record, RECORDED)]);
        expect(JSON.stringify(shown)).not.toContain(SECRET);
      }
    });

    it("ends what is in flight when it is closed, as a fault of ours", async () => {
      await harness.farEnd("hangs");
      const reported = new Promise<readonly AttemptReport[]>((resolve) => {
        harness.sender.send(makeAttempts(1), resolve);
      });
      await harness.sender.close();
      await harness.pass(0);
      const [report] = await reported;
      expect(report?.outcome).toMatchObject({ kind: "failed", result: "error", says: "nothing" });
    });

    it("has settings that pass its own checks, and names what is wrong with others by its field", () => {
      const settings = sender.settings(harness);
      expect(checkKindSettings(inputWith(settings), kinds)).toEqual([]);
      const [unknown] = checkKindSettings(inputWith({ ...settings, nonsense: 1 }), kinds);
      expect(unknown).toMatchObject({ field: fieldOf("nonsense", kind), message: expect.stringContaining(kind.name) });
      const [needed] = kind.settings.required ?? [];
      if (needed === undefined) return;
      const rest = Object.fromEntries(Object.entries(settings).filter(([field]) => field !== needed));
      const [missing] = checkKindSettings(inputWith(rest), kinds);
      expect(missing).toMatchObject({ field: fieldOf(needed, kind), message: expect.stringContaining("is missing") });
    });

    it("hides its secrets in the store, shows them to nobody, and finds them again", () => {
      const settings = sender.settings(harness);
      const parted = kind.secrets.hide(settings);
      expect([parted !== undefined, JSON.stringify(settings).includes(SECRET)]).toEqual(
        sender.noSecrets === undefined ? [true, true] : [false, false],
      );
      if (parted === undefined) return;
      expect(JSON.stringify(parted?.shown)).not.toContain(SECRET);
      expect(kind.secrets.reveal(parted?.shown ?? {}, JSON.parse(JSON.stringify(parted?.hidden)))).toEqual(settings);
      expect(JSON.stringify(kind.present(settings))).not.toContain(SECRET);
      expect(JSON.stringify(kind.secrets.mask(settings, () => MASK))).not.toContain(SECRET);
    });

    it("takes what it has shown for what is stored, and lets no secret go to another place", () => {
      const settings = sender.settings(harness);
      const shown = kind.secrets.mask(settings, () => MASK);
      expect(kind.secrets.restore(shown, settings)).toEqual(settings);
      kind.secrets.rejectCarried(shown, settings, true);
      if (sender.noSecrets !== undefined) return;
      const elsewhere = kind.secrets.mask(sender.settingsElsewhere(harness), () => MASK);
      expect(() => kind.secrets.rejectCarried(elsewhere, settings, true)).toThrow(/again/);
      // The control: given anew, it may.
      kind.secrets.rejectCarried(sender.settingsElsewhere(harness), settings, true);
    });

    it("puts its settings where they can be found", () => {
      const settings = sender.settings(harness);
      expect(settingsIn(inputWith(settings), kind)).toEqual(settings);
    });
  });
}

/** What the far end's doing must say about it; anything, where nothing is said here. */
const SIGNS: Partial<Record<FarEnd, readonly string[]>> = { takes: ["well"], "is down": ["ill"] };

const SIGNING_SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

const EVENT: Attempt["event"] = {
  id: "evt_1",
  type: "order.created",
  version: "1.0",
  source: "api",
  tenantId: "default",
  priority: "normal",
  orderingKey: undefined,
  occurredAt: Date.UTC(2026, 0, 1),
  receivedAt: Date.UTC(2026, 0, 1),
  contentType: "application/json",
  body: Buffer.from('{"total":1}'),
  origin: "publish",
};

const RECORDED = { deliveryId: "dlv_0", eventId: "evt_0", eventType: "order.created", number: 1, startedAt: 0 };
