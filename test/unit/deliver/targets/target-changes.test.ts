import { describe, expect, it } from "vitest";
import {
  createTargetNews,
  noteOthersFailed,
  noteOthersTaken,
  takeClosingNews,
  takeOpeningNews,
} from "../../../../src/deliver/targets/target-changes.ts";

describe("the news of a target", () => {
  it("tells that it opened only for a failure of others' events, and that it closed only when that was told", () => {
    const news = createTargetNews();
    expect([takeOpeningNews(news), takeClosingNews(news)]).toEqual([false, false]);
    noteOthersFailed(news);
    expect(takeOpeningNews(news)).toBe(true);
    // The next one has to be caused anew: the news itself may fail at the same destination.
    expect([takeClosingNews(news), takeOpeningNews(news), takeClosingNews(news)]).toEqual([true, false, false]);
    noteOthersFailed(news);
    noteOthersTaken(news);
    expect(takeOpeningNews(news)).toBe(false);
  });
});
