/** What is to be told of a target's mode, and of the subscriptions that send there. */
export interface TargetNews {
  /** Since the last success something failed that is not an event of the gateway itself: what follows is told. */
  failedOthers: boolean;
  /** That it opened was told, so that it closed must be told as well. */
  isOpeningTold: boolean;
}

export function createTargetNews(): TargetNews {
  return { failedOthers: false, isOpeningTold: false };
}

/** Somebody's event failed, or a check did, or an operator has decided: no news of the gateway itself is the cause. */
export function noteOthersFailed(news: TargetNews): void {
  news.failedOthers = true;
}

export function noteOthersTaken(news: TargetNews): void {
  news.failedOthers = false;
}

/**
 * Whether it is to be told that it opened. Once for each failure of what is not the gateway's own: else the news of an
 * opening, failing at the same destination, would be the cause of the next one.
 */
export function takeOpeningNews(news: TargetNews): boolean {
  news.isOpeningTold = news.failedOthers;
  news.failedOthers = false;
  return news.isOpeningTold;
}

/** Whether it is to be told that it closed. */
export function takeClosingNews(news: TargetNews): boolean {
  const wasTold = news.isOpeningTold;
  news.isOpeningTold = false;
  return wasTold;
}
