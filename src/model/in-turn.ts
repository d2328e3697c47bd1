/** Runs one change after the other: each sees the result of the one before, and a failure does not block the next. */
export function createTurns(): <Result>(run: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const turn = last.then(run);
    last = turn.catch(() => undefined);
    return turn;
  };
}
