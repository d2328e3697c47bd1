import { describe, expect, it } from "vitest";
import { findOpen, statesAfter, type RecipientStates } from "../../../../src/destinations/email/recipients.ts";
import { keepOwnRecord } from "../../../../src/destinations/own-record.ts";

const ALL = ["a@x", "b@x", "c@x"];
const kept = (states: object) => keepOwnRecord("smtp:", { ...states });
const interrupted = { ...kept({}), facts: undefined };
const fault = (address: string, isDeferred: boolean) => ({ address, isDeferred, answer: isDeferred ? "450" : "550" });

function attempt(earlier: object[], generation: number, isTaken: boolean, faults: ReturnType<typeof fault>[]) {
  const recipients = findOpen(ALL, earlier as Parameters<typeof findOpen>[1], generation);
  const states: RecipientStates = statesAfter(recipients, isTaken, faults);
  return { open: recipients.open, states, record: kept(states) };
}

describe("who still has to get a message", () => {
  it("is everybody at first, and those who were put off from then on", () => {
    const first = attempt([], 1, true, [fault("b@x", true), fault("c@x", false)]);
    expect(first.open).toEqual(ALL);
    const second = attempt([first.record], 1, false, [fault("b@x", true)]);
    expect(second.open).toEqual(["b@x"]);
    // Neither a lost connection nor a crash makes anybody forget.
    const third = attempt([first.record, second.record, kept({}), interrupted], 1, true, []);
    expect(third.open).toEqual(["b@x"]);
    expect(third.states).toMatchObject({ accepted: ["a@x", "b@x"], refused: [{ address: "c@x" }], deferred: [] });
  });

  it("is everybody again after a failure that concerned the whole message", () => {
    const first = attempt([], 1, false, []);
    expect(attempt([first.record], 1, true, []).open).toEqual(ALL);
  });

  it("is, in a replay, who did not have it; and everybody when all was done", () => {
    const first = attempt([], 1, true, [fault("b@x", true), fault("c@x", false)]);
    expect(attempt([first.record], 2, true, []).open).toEqual(["b@x", "c@x"]);
    const second = attempt([first.record], 1, true, []);
    expect(attempt([first.record, second.record], 2, true, []).open).toEqual(ALL);
  });
});
