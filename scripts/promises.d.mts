export interface ShownPromise {
  what: string;
  commands: readonly string[];
  files: readonly string[];
}

/** Of the page itself, unless another text is given. */
export function readPromises(page?: string): ShownPromise[];
