import { describe, expect, it } from "vitest";
import { createSharedChecks, HOST_CHECKS } from "../../../src/deliver/shared-checks.ts";
import { createVirtualClock, createVirtualTime } from "../../support/virtual-clock.ts";

const SECOND_MS = 1000;

function open(answerAfterMs = 10) {
  const time = createVirtualTime(1_750_000_000_000);
  const sent: string[] = [];
  const checks = createSharedChecks(({ url }, owner, done) => {
    sent.push(`${owner} ${url}`);
    time.after(answerAfterMs, () => done(`answer ${sent.length}`));
  }, createVirtualClock(time));
  function pass(ms: number): void {
    const until = time.elapsedMs + ms;
    while ((time.nextAt() ?? Infinity) <= until) time.step();
    time.moveTo(until);
  }
  const answers: (string | undefined)[] = [];
  const ask = (url: string, owner = "acme") =>
    checks.ask({ kind: "http", url }, owner, SECOND_MS, (error) => answers.push(error));
  return { ask, answers, sent, pass, checks };
}

describe("health checks of one URL", () => {
  it("are one request for all that ask within a second", () => {
    const { ask, answers, sent, pass } = open();
    for (let n = 0; n < 30; n++) ask("https://example.com/healthz");
    pass(20);
    ask("https://example.com/healthz");
    expect([sent.length, new Set(answers), answers.length]).toEqual([1, new Set(["answer 1"]), 31]);
    // The control: later, elsewhere and for another tenant it is asked again.
    pass(SECOND_MS - 20);
    ask("https://example.com/healthz");
    ask("https://example.com/other");
    ask("https://example.com/healthz", "other");
    pass(20);
    expect(sent).toHaveLength(4);
  });
});

describe("health checks of one host", () => {
  it("are limited for each tenant, and those of others do not wait for them", () => {
    const { ask, answers, sent, pass } = open();
    const beyond = 50;
    for (let n = 0; n < HOST_CHECKS.atOnce + beyond; n++) ask(`https://example.com/${n}`);
    expect(sent).toHaveLength(HOST_CHECKS.atOnce);
    ask("https://example.com/healthz", "other");
    expect(sent).toHaveLength(HOST_CHECKS.atOnce + 1);
    ask("https://elsewhere.example/healthz");
    expect(sent).toHaveLength(HOST_CHECKS.atOnce + 2);
    pass(SECOND_MS);
    expect(sent).toHaveLength(HOST_CHECKS.atOnce + 2 + HOST_CHECKS.perSecond);
    // None is left out: they only wait.
    pass((beyond / HOST_CHECKS.perSecond) * SECOND_MS);
    expect([sent.length, answers.length]).toEqual([HOST_CHECKS.atOnce + beyond + 2, HOST_CHECKS.atOnce + beyond + 2]);
  });

  it("that still wait are not sent after the stop", () => {
    const { ask, sent, pass, checks } = open();
    for (let n = 0; n <= HOST_CHECKS.atOnce; n++) ask(`https://example.com/${n}`);
    checks.stop();
    pass(SECOND_MS);
    expect(sent).toHaveLength(HOST_CHECKS.atOnce);
  });
});
