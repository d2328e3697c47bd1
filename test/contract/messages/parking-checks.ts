import { expect } from "vitest";
import { until, type ApiClient } from "../../support/api-client.ts";
import type { PulledHarness } from "../pulled-source-contract.ts";
import type { PulledCheck } from "./checks.ts";
import { withPullingGateway } from "./gateway.ts";

const JSON_TYPE = { "content-type": "application/json" };
const GARBAGE = ["a", "b"];

/** Messages that cannot be parked. */
export const PARKING_CHECKS: readonly PulledCheck[] = [
  // shows: Q31
  {
    name: "keeps what it cannot park, says why, goes on with the others, and parks it as soon as it can",
    run: (harness) => parkLater(harness, GARBAGE.length + 1),
  },
  {
    name: "goes on also when it cannot park as many as it may hold",
    appliesTo: ({ canDelayRetry }) => canDelayRetry,
    run: (harness) => parkLater(harness, GARBAGE.length),
  },
];

function parkLater(harness: PulledHarness, maxUnacknowledged: number): Promise<void> {
  const source = { max_unacknowledged: maxUnacknowledged };
  return withPullingGateway(harness, { source }, async ({ place, gateway, listEvents }) => {
    const untilPassing = (isSo: () => Promise<boolean>) =>
      until(async () => {
        gateway.moveClock(1000);
        return isSo();
      });
    await place.parking.remove();
    for (const id of GARBAGE) await place.send("{broken", { id, headers: JSON_TYPE });
    await untilPassing(async () => (await findTrouble(gateway)) !== undefined);
    for (let n = 0; n < 5; n++) await place.send("{}", { id: `good-${n}`, headers: JSON_TYPE });
    await untilPassing(async () => (await listEvents()).length === 5);
    await untilPassing(async () => (await place.countLeft()) <= GARBAGE.length);
    expect(await place.countLeft()).toBe(GARBAGE.length);
    expect(await findTrouble(gateway)).toMatch(/^messages cannot be parked and stay in the queue: ./);
    expect((await gateway.get("/status")).json["health"]).toBe("error");
    await place.parking.restore();
    await untilPassing(async () => (await place.countLeft()) === 0);
    expect(await place.listParked()).toHaveLength(GARBAGE.length);
    expect([await findTrouble(gateway), await listEvents()]).toEqual([
      undefined,
      expect.objectContaining({ length: 5 }),
    ]);
  });
}

/** What `/status` says of the source. */
async function findTrouble(gateway: ApiClient): Promise<string | undefined> {
  const { json } = await gateway.get("/status");
  return (json["sources"] as { name: string; reason: string }[]).find(({ name }) => name === "queue")?.reason;
}
