import type { Subscription } from "../../api/types.ts";

/** Where it goes, in one line. */
export function placeOf(subscription: Subscription): string {
  const settings = subscription as Readonly<Record<string, unknown>>;
  const destination = (subscription.destination ?? settings) as Readonly<Record<string, unknown>>;
  const to = [
    destination["url"],
    destination["to"],
    destination["path"],
    destination["queue"],
    destination["exchange"],
  ];
  const first = to.find((value) => value !== undefined && value !== null && value !== "");
  return [first].flat().map(String).join(", ").replace("undefined", "");
}
