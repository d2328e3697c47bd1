import { describe, expect, it } from "vitest";
import { openHostileSenders, type SendingRound } from "../../support/hostile-senders.ts";
import { PROOF_SIZE } from "../../support/proof-size.ts";
import { report } from "../../support/report.ts";

const ROUND_MS = 3000;
const ROUNDS = 5;
/**
 * Of what the same senders cost while they trouble somebody else on this machine: at most twice the time of the good
 * ones is the target, and `npm run hostile` asks for it. On two cores, which the hostile senders share, 1.5 to 3.0 ×
 * were seen, and the loop was held for 26 to 48 ms; more than the limits is a gateway that is really held up.
 */
const TARGET_RATIO = 2;
const MAX_RATIO = PROOF_SIZE === "long" ? TARGET_RATIO : 6;
const MAX_LOOP_RATIO = 3;

/** R20 against the built gateway: what bad senders cost the good ones. What becomes of these is in security/. */
describe("hostile senders", () => {
  it("never hold the loop, and cost the good ones a bounded part of their time", async () => {
    const { measureGood, attackGateway, attackBystander } = await openHostileSenders();
    await measureGood(ROUND_MS);
    const attacked: SendingRound[] = [];
    const around: SendingRound[] = [await attackBystander(ROUND_MS)];
    for (let round = 0; round < ROUNDS; round++) {
      attacked.push(await attackGateway(ROUND_MS));
      around.push(await attackBystander(ROUND_MS));
    }
    const { ratio, loopRatio } = compare(attacked, around);
    report(
      `R20 hostile senders: good p99 ${ratio.toFixed(1)} × (target ${TARGET_RATIO}), ` +
        `loop held ${loopRatio.toFixed(1)} × as long as beside them; ` +
        `p99/loop ms attacked ${list(attacked)}, around ${list(around)}`,
    );
    expect(attacked.reduce((sum, { failed }) => sum + failed, 0)).toBe(0);
    expect(ratio).toBeLessThanOrEqual(MAX_RATIO);
    expect(loopRatio).toBeLessThanOrEqual(MAX_LOOP_RATIO);
  });

  it("is a test that can fail: a gateway that reads large bodies in its loop is held by them", async () => {
    const { measureGood, attackGateway, attackBystander } = await openHostileSenders({ checkLargeBodiesOnLoop: true });
    await measureGood(ROUND_MS);
    const around = [await attackBystander(ROUND_MS)];
    const attacked = [await attackGateway(ROUND_MS)];
    // One round of either may be an odd one: up to as many pairs as the proof itself takes.
    while (attacked.length < ROUNDS && compare(attacked, around).loopRatio <= MAX_LOOP_RATIO) {
      around.push(await attackBystander(ROUND_MS));
      attacked.push(await attackGateway(ROUND_MS));
    }
    const { loopRatio } = compare(attacked, around);
    report(`R20 control, large bodies checked in the loop: it is held ${loopRatio.toFixed(1)} × as long`);
    expect(attacked.reduce((sum, { failed }) => sum + failed, 0)).toBe(0);
    expect(loopRatio).toBeGreaterThan(MAX_LOOP_RATIO);
  });

  function compare(attacked: readonly SendingRound[], around: readonly SendingRound[]) {
    const p99 = (rounds: readonly SendingRound[]) => median(rounds.map((round) => round.p99));
    const loopMs = (rounds: readonly SendingRound[]) => median(rounds.map((round) => round.loopMs));
    return { ratio: p99(attacked) / p99(around), loopRatio: loopMs(attacked) / loopMs(around) };
  }

  function list(rounds: readonly SendingRound[]): string {
    return rounds.map((one) => `${one.p99.toFixed(0)}/${one.loopMs.toFixed(0)}`).join(" ");
  }

  function median(numbers: readonly number[]): number {
    return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
  }
});
