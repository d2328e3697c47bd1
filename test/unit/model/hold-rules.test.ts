import { describe, expect, it } from "vitest";
import { checkGate, checkHeld, checkHold, checkNamedTarget } from "../../../src/model/hold-rules.ts";

const HOLDING = { acknowledge: "delivered", target: "home" };
const SLOW = { name: "home", retryPolicy: "standard" } as const;
const QUICK = { name: "home", retryPolicy: "short" } as const;
const TO_HOME = { target: "home", isOnly: false };

describe("how long a message may be held", () => {
  // shows: Q18
  it("is compared with the retries of its target, from the side of the source", () => {
    expect(checkHold(HOLDING, [QUICK])).toEqual([]);
    expect(checkHold({ ...HOLDING, acknowledge: "stored" }, [SLOW])).toEqual([]);
    expect(checkHold({ ...HOLDING, hold_max_s: 86_400 }, [{ ...QUICK, retryPolicy: { delays_s: [72_000] } }])).toEqual(
      [],
    );
    expect(checkHold(HOLDING, [QUICK, SLOW])).toMatchObject([
      { field: "options.hold_max_s", message: expect.stringMatching(/^900 s .* "home" \(\d{6} s\)/) },
    ]);
  });

  it("counts the jitter: waits of 750 s may take 900 s, and those of 751 s longer", () => {
    const retried = (seconds: number) => [{ name: "home", retryPolicy: { delays_s: [seconds] } }];
    expect(checkHold(HOLDING, retried(750))).toEqual([]);
    expect(checkHold(HOLDING, retried(751))).toHaveLength(1);
  });

  it("is compared with them from the side of the subscription, too", () => {
    const sources = [
      { name: "quick", options: { acknowledge: "stored", target: "home" } },
      { name: "elsewhere", options: { ...HOLDING, target: "office" } },
      { name: "bus", options: HOLDING },
    ];
    expect(checkHeld(QUICK, sources, TO_HOME)).toEqual([]);
    expect(checkHeld(SLOW, sources.slice(0, 2), TO_HOME)).toEqual([]);
    expect(checkHeld(SLOW, sources, TO_HOME)).toMatchObject([
      { field: "retry_policy", message: expect.stringContaining('the source "bus"') },
    ]);
  });

  it("concerns the only target where a source names none", () => {
    const sources = [{ name: "bus", options: { acknowledge: "delivered" } }];
    expect(checkHeld(SLOW, sources, { target: "home", isOnly: true })).toHaveLength(1);
    expect(checkHeld(SLOW, sources, { target: "home", isOnly: false })).toEqual([]);
  });
});

describe("the target of a source that waits for deliveries", () => {
  it("is named where there are several", () => {
    const unnamed = { acknowledge: "delivered" };
    expect(checkGate(unnamed, [])).toEqual([]);
    expect(checkGate(unnamed, ["home"])).toEqual([]);
    expect(checkGate(HOLDING, ["home", "office"])).toEqual([]);
    expect(checkGate({}, ["home", "office"])).toEqual([]);
    expect(checkGate(unnamed, ["home", "office"])).toMatchObject([
      { field: "options.target", message: expect.stringContaining("home, office") },
    ]);
  });

  it("is one that is there: the nearest name is told of one that is not", () => {
    expect(checkNamedTarget({}, [])).toEqual([]);
    expect(checkNamedTarget({ target: "home" }, ["office", "home"])).toEqual([]);
    expect(checkNamedTarget({ target: "hoem" }, ["office", "home"])).toEqual([
      {
        field: "options.target",
        message: 'there is no target "hoem"; did you mean home? The tenant\'s targets are office, home',
      },
    ]);
    expect(checkNamedTarget({ target: "erp" }, ["office"])[0]?.message).toBe(
      'there is no target "erp". The tenant\'s targets are office',
    );
    expect(checkNamedTarget({ target: "erp" }, [])[0]?.message).toBe(
      'there is no target "erp". The tenant has no target yet; create the subscription or target first',
    );
  });
});
