import { setTimeout as wait } from "node:timers/promises";
import { median } from "../statistics.mjs";

const IDLE_MS = 3000;

export async function measureStart(bench) {
  const starts = [];
  for (let i = 0; i < bench.plan.starts; i++) {
    const gateway = await bench.startGateway(`start-${i}`);
    if (i === 0) await wait(IDLE_MS);
    starts.push({ readyAfterMs: gateway.readyAfterMs, resident: gateway.residentMb() });
    await bench.stopAll();
  }
  const again = await bench.startGateway("start-0");
  await bench.stopAll();
  return {
    rows: [
      { figure: "idle RSS", value: starts[0].resident.now, unit: "MB", must: 110, aim: 95, isLowerBetter: true },
      {
        figure: "  cold start to ready",
        value: median(starts.map(({ readyAfterMs }) => readyAfterMs)) / 1000,
        unit: "s",
        must: 0.8,
        aim: 0.5,
        isLowerBetter: true,
        note: `new data directory; ${(again.readyAfterMs / 1000).toFixed(2)} s with an old one`,
      },
    ],
    details: { starts, again: again.readyAfterMs },
  };
}
