import type { Subscription } from "../../api/types.ts";

/** Where kinds of destinations say that they lead to. */
const PLACES = ["url", "to", "path", "queue", "exchange"];

/** Where it goes, in one line. */
export function placeOf(subscription: Subscription): string {
  const settings = (subscription.destination ?? { ...subscription }) as Readonly<Record<string, unknown>>;
  const place = PLACES.map((name) => settings[name]).find((value) => value !== undefined && value !== null);
  return place === undefined ? "" : [place].flat().map(String).join(", ");
}
