// The side of a child process that the bench asks things of: one answer for each question, by number.

export function answerWith(acts) {
  const all = { cpuMs: () => process.cpuUsage().user / 1000 + process.cpuUsage().system / 1000, ...acts };
  process.on("message", ({ id, name, args }) => {
    Promise.resolve()
      .then(() => all[name](...args))
      .then(
        (value) => process.send({ id, value }),
        (error) => process.send({ id, error: error instanceof Error ? error.message : String(error) }),
      );
  });
  // The bench is gone: nobody asks any more.
  process.on("disconnect", () => process.exit());
  process.send({ ready: true });
}

const OFFSET_US = Number(process.hrtime.bigint() / 1000n) - performance.now() * 1000;

/** Microseconds of the monotonic clock, which all processes of a machine share. */
export function nowUs() {
  return OFFSET_US + performance.now() * 1000;
}

/** Resolves with the time at which a counter reached what is waited for. */
export function createCount() {
  let count = 0;
  let waiting;
  return {
    get value() {
      return count;
    },
    add() {
      count += 1;
      if (waiting !== undefined && count >= waiting.target) {
        waiting.resolve(nowUs());
        waiting = undefined;
      }
    },
    reset() {
      count = 0;
      waiting = undefined;
    },
    reach: (target) =>
      count >= target
        ? nowUs()
        : new Promise((resolve) => {
            waiting = { target, resolve };
          }),
  };
}
