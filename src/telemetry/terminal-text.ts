/**
 * The only filter for shown text: text from a sender must not move the cursor, colour the screen, fake a line or
 * reverse the direction of a text. Each such character is shown as its JSON escape, so that JSON stays valid.
 */
const CONTROLS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const CONTROLS_IN_LINES = /[^\n\t\P{Cc}]|[\p{Cf}\p{Zl}\p{Zp}]/gu;

export function escapeControls(text: string): string {
  return text.replace(CONTROLS, escapeUnits);
}

/** For whole lines: line ends and tabs stay. */
export function escapeLines(text: string): string {
  return text.replace(CONTROLS_IN_LINES, escapeUnits);
}

/** By UTF-16 unit: JSON has no other escape for characters beyond U+FFFF. */
function escapeUnits(character: string): string {
  let escaped = "";
  for (let at = 0; at < character.length; at++) {
    escaped += `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`;
  }
  return escaped;
}
