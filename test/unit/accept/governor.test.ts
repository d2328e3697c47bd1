import { describe, expect, it } from "vitest";
import { createGovernor } from "../../../src/accept/overload.ts";
import { createVirtualClock, createVirtualTime } from "../../support/virtual-clock.ts";

function build() {
  const time = createVirtualTime(0);
  const clock = createVirtualClock(time);
  const state = { utilization: 1, resumed: 0 };
  const governor = createGovernor({ clock, readUtilization: () => state.utilization });
  governor.onResume(() => state.resumed++);
  const sendAll = (limit: number) => {
    let sent = 0;
    while (sent < limit && governor.maySend()) sent++;
    return sent;
  };
  const accept = (count: number) => {
    for (let i = 0; i < count; i++) governor.recordAccepted();
  };
  return { endWindow: () => time.step(), state, governor, sendAll, accept };
}

describe("the governor", () => {
  it("lets everything go while the loop has time to spare", () => {
    const { endWindow, state, sendAll, accept } = build();
    state.utilization = 0.35;
    accept(1000);
    endWindow();
    expect(sendAll(5000)).toBe(5000);
  });

  it("gives deliveries a share of what is accepted while all of them would be too much for the loop", () => {
    const { endWindow, sendAll, accept } = build();
    accept(600);
    endWindow();
    expect(sendAll(5000)).toBe(100);
  });

  it("does not lift the limit because the limit works", () => {
    const { endWindow, state, sendAll, accept } = build();
    accept(600);
    endWindow();
    expect(sendAll(5000)).toBe(100);
    accept(600);
    // Half of the loop for 600 accepted and 100 sent: 600 and 600 would need nine tenths of it.
    state.utilization = 0.5;
    endWindow();
    expect(sendAll(5000)).toBe(100);
    accept(600);
    state.utilization = 0.45;
    endWindow();
    expect(sendAll(5000)).toBe(5000);
  });

  it("takes events whose senders wait for the attempt for no flood", () => {
    const { endWindow, governor, sendAll, accept } = build();
    accept(600);
    for (let i = 0; i < 580; i++) governor.recordAwaited();
    endWindow();
    expect(sendAll(5000)).toBe(5000);
  });

  it("lets some go whatever comes in", () => {
    const { endWindow, sendAll, accept } = build();
    accept(60);
    endWindow();
    expect(sendAll(5000)).toBe(20);
  });

  it("does not hold back deliveries that saturate the loop by themselves", () => {
    const { endWindow, sendAll, accept } = build();
    accept(5);
    endWindow();
    expect(sendAll(5000)).toBe(5000);
  });

  it("calls back when attempts may go again", () => {
    const { endWindow, state, sendAll, accept } = build();
    accept(60);
    endWindow();
    expect(sendAll(5000)).toBe(20);
    expect(state.resumed).toBe(0);
    endWindow();
    expect(state.resumed).toBe(1);
    expect(sendAll(5000)).toBe(5000);
  });
});
