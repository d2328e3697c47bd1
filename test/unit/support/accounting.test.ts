import { describe, expect, it } from "vitest";
import { checkAccounts, countDuplicates, describeViolations } from "../../support/accounting.ts";
import type { Arrival, Books, EventFacts, SentEvent, TenantCounts } from "../../support/accounting.ts";

/** Three events of one key, all acknowledged and delivered in order. */
function goodBooks(): { sent: SentEvent[]; arrivals: Arrival[]; events: EventFacts[]; counts: TenantCounts[] } {
  const numbers = [1, 2, 3];
  return {
    sent: numbers.map((n) => ({
      hash: `hash ${n}`,
      tenantId: "default",
      orderingKey: "k",
      sentAt: n * 10,
      answeredAt: n * 10 + 5,
      answer: "acknowledged",
      eventId: `evt_${n}`,
      deliveries: 1,
    })),
    arrivals: numbers.map((n) => ({
      eventId: `evt_${n}`,
      subscription: "shop",
      attempt: 1,
      hash: `hash ${n}`,
      accepted: true,
    })),
    events: numbers.map((n) => ({
      eventId: `evt_${n}`,
      seq: n,
      tenantId: "default",
      hash: `hash ${n}`,
      deliveries: [{ subscription: "shop", state: "delivered", generation: 1, interruptions: 0 }],
    })),
    counts: [{ tenantId: "default", accepted: 3, created: 3, delivered: 3, dead: 0, cancelled: 0 }],
  };
}

type Spoil = (books: ReturnType<typeof goodBooks>) => Partial<Books> | void;

function kindsAfter(spoil: Spoil): string[] {
  const books = goodBooks();
  const change = spoil(books) ?? {};
  return [...new Set(checkAccounts({ ...books, ordered: new Set(["shop"]), ...change }).map(({ kind }) => kind))];
}

const change = <T>(list: T[], index: number, by: Partial<T>) => (list[index] = { ...(list[index] as T), ...by });

function setState(books: ReturnType<typeof goodBooks>, state: "pending" | "dead" | "cancelled", interruptions = 0) {
  change(books.events, 2, { deliveries: [{ subscription: "shop", state, generation: 1, interruptions }] });
  change(books.counts, 0, { delivered: 2, ...(state === "pending" ? {} : { [state]: 1 }) });
}

describe("the accounting checker", () => {
  it("finds nothing wrong where all is well", () => {
    expect(kindsAfter(() => undefined)).toEqual([]);
  });

  it.each(["pending", "dead", "cancelled"] as const)("takes %s for an answer to where an event is", (state) => {
    expect(
      kindsAfter((books) => {
        setState(books, state);
        books.arrivals.pop();
      }),
    ).toEqual([]);
  });

  it("finds an acknowledged event that the store does not have", () => {
    expect(
      kindsAfter((books) => {
        books.events.pop();
        books.arrivals.pop();
        change(books.counts, 0, { accepted: 2, created: 2, delivered: 2 });
      }),
    ).toEqual(["lost"]);
  });

  it("finds a delivery that is missing, or that nobody was told of", () => {
    expect(kindsAfter((books) => void change(books.sent, 0, { deliveries: 2 }))).toEqual(["lost"]);
    expect(kindsAfter((books) => void change(books.sent, 0, { deliveries: 0 }))).toEqual(["unexpected"]);
  });

  it("finds a delivery that is recorded as delivered and never arrived", () => {
    expect(kindsAfter((books) => void books.arrivals.pop())).toEqual(["lost"]);
    expect(kindsAfter((books) => void change(books.arrivals, 2, { accepted: false }))).toEqual(["lost"]);
  });

  it("finds one id given for two events", () => {
    expect(kindsAfter((books) => void books.sent.push({ ...(books.sent[0] as SentEvent), hash: "other" }))).toContain(
      "lost",
    );
  });

  it("finds what nobody sent, what was rejected, what was stored twice and what the store does not know", () => {
    expect(kindsAfter((books) => void books.sent.pop())).toEqual(["unexpected"]);
    expect(kindsAfter((books) => void change(books.sent, 2, { answer: "refused", eventId: undefined }))).toEqual([
      "unexpected",
    ]);
    expect(
      kindsAfter((books) => {
        books.events.push({ ...(books.events[0] as EventFacts), eventId: "evt_4", seq: 4, deliveries: [] });
        change(books.counts, 0, { accepted: 4 });
      }),
    ).toEqual(["unexpected"]);
    expect(kindsAfter((books) => void change(books.arrivals, 0, { eventId: "evt_9" }))).toContain("unexpected");
    expect(
      kindsAfter((books) => void books.arrivals.push({ ...(books.arrivals[0] as Arrival), subscription: "b" })),
    ).toEqual(["unexpected"]);
    expect(kindsAfter((books) => void change(books.sent, 0, { tenantId: "acme" }))).toContain("unexpected");
  });

  it("lets an event of which the sender heard nothing be there or not", () => {
    expect(
      kindsAfter((books) => {
        change(books.sent, 2, { answer: "unknown", eventId: undefined, answeredAt: Number.POSITIVE_INFINITY });
        books.sent.push({ ...(books.sent[2] as SentEvent), hash: "hash 4" });
      }),
    ).toEqual([]);
  });

  it("finds changed bytes, at the sink and in the store", () => {
    expect(kindsAfter((books) => void change(books.arrivals, 1, { hash: "?" }))).toContain("bytes changed");
    expect(kindsAfter((books) => void change(books.events, 1, { hash: "?" }))).toContain("bytes changed");
  });

  it("finds first deliveries of a key that changed places", () => {
    expect(kindsAfter((books) => void books.arrivals.reverse())).toEqual(["out of order"]);
  });

  it("compares with all that came before, not only with the last", () => {
    expect(
      kindsAfter((books) => {
        const [first, second, third] = books.arrivals as [Arrival, Arrival, Arrival];
        books.arrivals.splice(0, 3, third, first, second);
      }),
    ).toEqual(["out of order"]);
  });

  it("asks for no order of other keys, unordered subscriptions, replays and failed attempts", () => {
    expect(
      kindsAfter((books) => {
        books.arrivals.reverse();
        books.sent.forEach((_, i) => change(books.sent, i, { orderingKey: `k${i}` }));
      }),
    ).toEqual([]);
    expect(
      kindsAfter((books) => {
        books.arrivals.reverse();
        return { ordered: new Set<string>() };
      }),
    ).toEqual([]);
    expect(
      kindsAfter((books) => {
        change(books.events, 0, {
          deliveries: [{ subscription: "shop", state: "delivered", generation: 2, interruptions: 0 }],
        });
        books.arrivals.push(books.arrivals.shift() as Arrival);
      }),
    ).toEqual([]);
    expect(
      kindsAfter((books) => {
        const last = books.arrivals[2] as Arrival;
        books.arrivals.unshift({ ...last, accepted: false });
        change(books.arrivals, 3, { attempt: 2 });
      }),
    ).toEqual([]);
  });

  it("takes a late repeat for no breach of order", () => {
    expect(
      kindsAfter((books) => {
        books.arrivals.push({ ...(books.arrivals[0] as Arrival), attempt: 2 });
        change(books.events, 0, {
          deliveries: [{ subscription: "shop", state: "delivered", generation: 1, interruptions: 1 }],
        });
      }),
    ).toEqual([]);
  });

  it("finds repeats that no crash explains, and attempts made twice", () => {
    expect(kindsAfter((books) => void books.arrivals.push({ ...(books.arrivals[2] as Arrival), attempt: 2 }))).toEqual([
      "repeated",
    ]);
    expect(
      kindsAfter((books) => {
        const last = books.arrivals[2] as Arrival;
        books.arrivals.splice(2, 1, { ...last, accepted: false }, last);
      }),
    ).toEqual(["repeated"]);
  });

  it("finds more repeats than were in flight", () => {
    expect(
      kindsAfter((books) => {
        setState(books, "pending", 1);
        books.arrivals.push({ ...(books.arrivals[2] as Arrival), attempt: 2 });
        return { maxDuplicates: 0 };
      }),
    ).toEqual(["too many duplicates"]);
  });

  it.each(["accepted", "created", "delivered", "dead", "cancelled"] as const)("finds a wrong count of %s", (name) => {
    expect(kindsAfter((books) => void change(books.counts, 0, { [name]: 7 }))).toEqual(["imbalance"]);
  });

  it("finds a tenant that was not counted, and one without rows", () => {
    expect(kindsAfter((books) => void books.counts.pop())).toEqual(["imbalance"]);
    expect(
      kindsAfter((books) => {
        books.counts.push({ tenantId: "acme", accepted: 1, created: 0, delivered: 0, dead: 0, cancelled: 0 });
      }),
    ).toEqual(["imbalance"]);
  });

  it("counts duplicates over all deliveries", () => {
    const { arrivals } = goodBooks();
    const first = arrivals[0] as Arrival;
    expect(countDuplicates([...arrivals, first, { ...first, accepted: false }, { ...first, subscription: "b" }])).toBe(
      1,
    );
  });

  it("describes the first few", () => {
    const violations = ["a", "b", "c"].map((detail) => ({ kind: "lost" as const, detail }));
    expect(describeViolations(violations, 2)).toBe("lost: a\nlost: b\nand 1 more");
  });
});
