import { describe, expect, it } from "vitest";
import { findForwardRival } from "../../../src/model/forward-rules.ts";

const forward = (...events: string[]) => ({ mode: "forward" as const, events });
const queue = (...events: string[]) => ({ mode: "queue" as const, events });

describe("two subscriptions that forward", () => {
  it("are rivals when they have a pattern in common, or one of them is for everything", () => {
    const orders = forward("webhook.orders", "webhook.refunds");
    expect(findForwardRival(forward("webhook.refunds"), [orders])).toBe(orders);
    expect(findForwardRival(forward("*"), [orders])).toBe(orders);
    expect(findForwardRival(forward("webhook.users"), [forward("#")])).toEqual(forward("#"));
  });

  it("may be there side by side otherwise, also where their patterns might overlap", () => {
    expect(
      findForwardRival(forward("webhook.users"), [forward("webhook.orders"), forward("webhook.*")]),
    ).toBeUndefined();
    expect(findForwardRival(forward("*"), [queue("*")])).toBeUndefined();
    expect(findForwardRival(queue("*"), [forward("*")])).toBeUndefined();
    expect(findForwardRival(forward("*"), [])).toBeUndefined();
  });

  it("are none when no source is meant by both", () => {
    const shop = { ...forward("*"), sources: ["shop"] };
    expect(findForwardRival({ ...forward("*"), sources: ["erp"] }, [shop])).toBeUndefined();
    expect(findForwardRival({ ...forward("*"), sources: ["*"] }, [shop])).toBe(shop);
    expect(findForwardRival(forward("*"), [shop])).toBe(shop);
  });
});
