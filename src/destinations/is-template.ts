/** Whether a text contains parts that an event fills in. */
export function isTemplate(text: string): boolean {
  return /\{[{%]/.test(text);
}
