/**
 * The one filter for what is shown: what a sender wrote must not move the cursor, colour the screen, fake a line or turn
 * the direction of a text round. Each such character is shown as JSON would write it, so that JSON stays what it is.
 */
const OBEYED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const OBEYED_IN_LINES = /[^\n\t\P{Cc}]|[\p{Cf}\p{Zl}\p{Zp}]/gu;

/** For a text in one line. */
export function escapeControls(text: string): string {
  return text.replace(OBEYED, escapeUnits);
}

/** For whole lines: their ends and tabs stay. */
export function escapeLines(text: string): string {
  return text.replace(OBEYED_IN_LINES, escapeUnits);
}

/** By UTF-16 unit: JSON has no other way for what is beyond U+FFFF. */
function escapeUnits(character: string): string {
  let escaped = "";
  for (let at = 0; at < character.length; at++) {
    escaped += `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`;
  }
  return escaped;
}
