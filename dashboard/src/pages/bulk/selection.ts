import type { ReplayPlan } from "../../api/types.ts";
import type { Filters } from "../../layout/view-filters.ts";

type Selection = { filter: Record<string, string> } | { all: true };

/** The API wants it said when all of them are meant. */
export function selectionOf(filters: Filters): Selection {
  const given = Object.entries(filters).filter(([, value]) => value !== undefined && value !== "");
  const filter = Object.fromEntries(given) as Record<string, string>;
  return given.length === 0 ? { all: true } : { filter };
}

/** A purge has to say how many it is about, or that the number does not matter. */
export function confirmationOf(plan: Pick<ReplayPlan, "count" | "exact"> | undefined): { confirm: number | "purge" } {
  return { confirm: plan?.exact === true ? plan.count : "purge" };
}
