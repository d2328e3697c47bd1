import { describe, expect, it } from "vitest";
import { sendHostileValidations, startValidatingGateway } from "../support/hostile-validations.ts";
import { report } from "../support/report.ts";

const EXPECTED = [200, 202, 422, 503];

/** R20, counted; how long they hold the loop is a proof of its own. */
describe("validations that mean no good", () => {
  it("get an answer, whatever is sent to them, and nobody else notices", async () => {
    const gateway = await startValidatingGateway();
    const answers = await sendHostileValidations(gateway);
    report(`R20 hostile validations: answers ${JSON.stringify(answers)}`);
    expect(
      Object.keys(answers)
        .map(Number)
        .filter((status) => !EXPECTED.includes(status)),
    ).toEqual([]);
    expect((await gateway.webhook("calm", "{}")).status).toBe(202);
  });
});
