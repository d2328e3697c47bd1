import { describe, expect, it } from "vitest";
import { sendHostileValidations, startValidatingGateway } from "../support/hostile-validations.ts";
import { report } from "../support/report.ts";

/** What an answer may be, and whether there must be some of them: else all of them could be turned away unread. */
const EXPECTED = new Map([
  [200, false],
  [202, true],
  [422, true],
  [503, false],
]);

function findFaults(answers: Readonly<Record<number, number>>): string[] {
  const unexpected = Object.keys(answers).filter((status) => !EXPECTED.has(Number(status)));
  const lacking = [...EXPECTED].filter(([status, isNeeded]) => isNeeded && !((answers[status] ?? 0) > 0));
  return [...unexpected.map((status) => `${status} was answered`), ...lacking.map(([status]) => `no ${status}`)];
}

/** R20, counted; how long they hold the loop is a proof of its own. */
describe("validations that mean no good", () => {
  it("get an answer, whatever is sent to them, and nobody else notices", async () => {
    const gateway = await startValidatingGateway();
    const answers = await sendHostileValidations(gateway);
    report(`R20 hostile validations: answers ${JSON.stringify(answers)}`);
    expect(findFaults(answers)).toEqual([]);
    expect((await gateway.webhook("calm", "{}")).status).toBe(202);
  });

  it("is a test that can fail: a gateway that turns all of them away, or breaks down, is found", () => {
    expect(findFaults({ 503: 160 })).toEqual(["no 202", "no 422"]);
    expect(findFaults({ 200: 80, 202: 40, 422: 40, 500: 1 })).toEqual(["500 was answered"]);
  });
});
