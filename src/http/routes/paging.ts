import { Type } from "typebox";
import type { PageOf } from "../../store/port/reads.ts";

/** Every list is paged the same way. */
export const PageQuery = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 50 })),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: "`next_cursor` of the page before" })),
};

export interface PageParameters {
  limit?: number;
  cursor?: string;
}

export function pageOf({ limit, cursor }: PageParameters) {
  return { limit: limit ?? 50, cursor };
}

export function presentPage<Row, Shown>(page: PageOf<Row>, present: (row: Row) => Shown) {
  return { data: page.rows.map(present), next_cursor: page.nextCursor ?? null };
}
