import { Type, type TProperties } from "typebox";
import type { PageOf } from "../../store/port/reads.ts";
import * as Doc from "../openapi/shapes.ts";

/** All lists are paged in the same way. */
const PageQuery = {
  limit: Type.Integer({ minimum: 1, maximum: 500, default: 50 }),
  cursor: Type.String({ maxLength: 200, description: "`next_cursor` of the previous page" }),
};

export interface PageParameters {
  limit?: number;
  cursor?: string;
}

export function pageQuery<More extends TProperties>(more: More) {
  return Doc.optional({ ...PageQuery, ...more });
}

export function pageOf({ limit, cursor }: PageParameters) {
  return { limit: limit ?? 50, cursor };
}

/** One page of the remaining items. The last item of the page determines where the next one begins. */
export function cutPage<Row>(rest: readonly Row[], query: PageParameters, cursorOf: (row: Row) => string): PageOf<Row> {
  const { limit } = pageOf(query);
  const rows = rest.slice(0, limit);
  const last = rows.at(-1);
  return { rows, nextCursor: rest.length > limit && last !== undefined ? cursorOf(last) : undefined };
}

export function presentPage<Row, Shown>(page: PageOf<Row>, present: (row: Row) => Shown) {
  return { data: page.rows.map(present), next_cursor: page.nextCursor ?? null };
}
