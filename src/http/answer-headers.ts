/** On every answer that is no page: nobody keeps it, and no browser takes it for something else than it says. */
export const ANSWER_HEADERS = { "x-content-type-options": "nosniff", "cache-control": "no-store" } as const;
