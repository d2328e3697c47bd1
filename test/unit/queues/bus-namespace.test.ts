import { describe, expect, it } from "vitest";
import { isOfClosedLink, isOfSettledMessage, toBusFault } from "../../../src/queues/azure-service-bus/bus-namespace.ts";

const settled = new Error("The message has either been deleted or already settled");
const closed = new Error("The receiver for session 7 has been closed");

describe("an error of Azure Service Bus", () => {
  it.each([
    ["alone", settled],
    ["as the last of several tries", new AggregateError([closed, settled])],
    ["as the last of tries that were repeated", new AggregateError([new AggregateError([settled])])],
  ])("that a message is settled is known as such, %s", (_, error) => expect(isOfSettledMessage(error)).toBe(true));

  it("is checked by the last of several tries", () => {
    const error = new AggregateError([settled, closed]);
    expect([isOfSettledMessage(error), isOfClosedLink(error)]).toEqual([false, true]);
    expect(toBusFault(error, "example")).toMatchObject({ kind: "unreachable" });
  });

  it("that is none of these says neither", () => {
    expect([isOfSettledMessage(new Error("no")), isOfClosedLink("closed")]).toEqual([false, false]);
  });
});
