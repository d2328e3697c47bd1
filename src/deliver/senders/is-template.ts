/** Whether a text has parts that an event fills in. */
export function isTemplate(text: string): boolean {
  return /\{[{%]/.test(text);
}
