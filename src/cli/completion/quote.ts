/** Quotes a text as one word of a shell, whatever it contains. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
