/** The note at the head of each page that is written by scripts/write-reference.ts. */
export function generatedFrom(source: string): string {
  return `<!-- Written by \`tsx scripts/write-reference.ts\` from ${source}; change that, not this page. -->`;
}
