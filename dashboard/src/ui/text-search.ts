/** Whether one of the texts contains what somebody typed, in any case. Without a word, all of them do. */
export function hasText(texts: readonly (string | null | undefined)[], typed: string | undefined): boolean {
  const word = typed?.trim().toLowerCase() ?? "";
  return texts.some((text) => (text ?? "").toLowerCase().includes(word));
}
