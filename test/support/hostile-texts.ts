// Texts that would call `steal()` where somebody took them for more than text, and others that confuse readers.

const SCRIPTS = [
  "<script>steal()</script>",
  '<img src=x onerror="steal()">',
  "<svg onload=steal()><iframe srcdoc='<script>parent.steal()</script>'></iframe>",
  '"><a href="javascript:steal()" onfocus=steal() autofocus tabindex=1>x</a>',
  "</pre></textarea></script><script>steal()</script>",
];
const CONFUSING = ["\u202Egnp.exe\u2066", "\u001B[31mred\u001B[0m\u001B]0;title\u0007"];

/** In one line, for names and values. */
export const HOSTILE_NAME = SCRIPTS.join(" ").slice(0, 200);
/** As it may stand in a header: neither control characters nor what is beyond Latin-1. */
export const HOSTILE_HEADER = SCRIPTS.join(" ");
export const HOSTILE_TEXTS: readonly string[] = [...SCRIPTS, ...CONFUSING];

/** What JSON.parse would make another number of. */
export const LARGE_NUMBER = "12345678901234567890.10";

export function hostileJson(): string {
  const texts = HOSTILE_TEXTS.map((text, index) => [index % 2 === 0 ? `text ${index}` : text, text]);
  const members = JSON.stringify(Object.fromEntries(texts));
  return `${members.slice(0, -1)},"number":${LARGE_NUMBER},"long":"${"x".repeat(1_000_000)}"}`;
}

export function deepJson(depth: number): string {
  return `${"[".repeat(depth)}"<script>steal()</script>"${"]".repeat(depth)}`;
}
