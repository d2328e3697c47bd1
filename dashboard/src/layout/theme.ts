/** Light or dark, as the system says or as somebody chose here. */
export const THEMES = { system: "System", light: "Light", dark: "Dark" } as const;
export type Theme = keyof typeof THEMES;

const KEY = "posthorn-theme";

export function readTheme(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function applyTheme(theme: Theme): void {
  if (theme === "system") {
    delete document.documentElement.dataset["theme"];
    localStorage.removeItem(KEY);
  } else {
    document.documentElement.dataset["theme"] = theme;
    localStorage.setItem(KEY, theme);
  }
}

/** The colour that a partner's page is given by the configuration. By script: the policy allows no styles in the page. */
export function applyAccent(accent: string | null | undefined): void {
  if (accent === null || accent === undefined) return;
  document.documentElement.style.setProperty("--accent", accent);
  document.documentElement.style.setProperty("--accent-text", readableOn(accent));
}

/** Black or white, whichever is read better on the colour (WCAG 2.2, relative luminance). */
function readableOn(colour: string): string {
  const channels = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255);
  const [red = 0, green = 0, blue = 0] = channels.map((one) =>
    one <= 0.040_45 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
}
