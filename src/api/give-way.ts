/** While the event loop lags, a read waits in steps of this, but not forever: it becomes slow, but continues. */
const WAIT_MS = 20;
const MAX_WAITS = 50;

export interface GiveWayOptions {
  /** Whether the event loop lags. */
  isBusy: () => boolean;
  /** Waits in the machine's time, not that of the gateway's clock, because the lag is measured in it. */
  wait?: ((ms: number) => Promise<void>) | undefined;
}

/** For long tasks that can wait: resolves when the gateway is no longer busy with other work. */
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
