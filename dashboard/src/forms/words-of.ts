/** In a form nobody writes null: an empty field stands for it, or for the default where there is another one. */
const WORDS = [
  [/; null for never\. Default: /, ". Default: "],
  [/, or null with /, ", or never with "],
  [/\bnull for\b/, "empty for"],
] as const;

/** The API's description of a setting, in the words of a form. */
export function wordsOf(description: string): string {
  return WORDS.reduce((words, [of, instead]) => words.replace(of, instead), description);
}
