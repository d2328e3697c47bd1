export interface Page<Item> {
  data: Item[];
  next_cursor: string | null;
}

/** A list. Nothing is asked for before somebody wants it. */
export interface Pages<Item, Whole extends Page<Item> = Page<Item>> extends AsyncIterable<Item> {
  /** The first page alone, with its `next_cursor`. */
  page(): Promise<Whole>;
  /** Page by page. */
  pages(): AsyncIterable<Whole>;
  /** All, or as many as wanted. */
  toArray(max?: number): Promise<Item[]>;
}

export function createPages<Item, Whole extends Page<Item>>(
  load: (cursor: string | undefined) => Promise<Whole>,
): Pages<Item, Whole> {
  async function* pages(): AsyncGenerator<Whole> {
    let cursor: string | undefined;
    do {
      const page = await load(cursor);
      yield page;
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
  }

  async function* items(): AsyncGenerator<Item> {
    for await (const { data } of pages()) yield* data;
  }

  return {
    page: () => load(undefined),
    pages,
    async toArray(max = Number.POSITIVE_INFINITY) {
      const found: Item[] = [];
      if (max <= 0) return found;
      for await (const item of items()) if (found.push(item) >= max) break;
      return found;
    },
    [Symbol.asyncIterator]: items,
  };
}
