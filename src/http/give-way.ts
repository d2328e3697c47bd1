/** While the loop is late a read waits in steps of this, and not for ever: it is slow then, but goes on. */
const WAIT_MS = 20;
const MAX_WAITS = 50;

export interface GiveWayOptions {
  /** Whether the loop is late. */
  isBusy: () => boolean;
  /** By the machine's own time, in which the loop is late, whatever the clock of the gateway shows. */
  wait?: ((ms: number) => Promise<void>) | undefined;
}

/** For what is long and can wait: resolves when whatever else the gateway has to do was done. */
export type GiveWay = () => Promise<void>;

export function createGiveWay({ isBusy, wait = waitOnMachine }: GiveWayOptions): GiveWay {
  return async () => {
    await new Promise<void>((resolve) => setImmediate(resolve));
    for (let waits = 0; waits < MAX_WAITS && isBusy(); waits++) await wait(WAIT_MS);
  };
}

function waitOnMachine(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
