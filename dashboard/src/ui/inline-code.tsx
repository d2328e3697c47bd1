/** A sentence in which commands and names stand between backticks. */
export function InlineCode({ text }: { text: string }) {
  return text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
}
