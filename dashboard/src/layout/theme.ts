import type { Session } from "../api/types.ts";
import { readKept, writeKept } from "../session/kept.ts";
import { ACCENT_THEMES, accentFor } from "./accent.ts";

/** Light or dark, as the system says or as somebody chose here. */
export const THEMES = { system: "System", light: "Light", dark: "Dark" } as const;
export type Theme = keyof typeof THEMES;

const KEY = "posthorn-theme";
const store = () => localStorage;

export function readTheme(): Theme {
  const kept = readKept(store, KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function applyTheme(theme: Theme): void {
  showTheme(theme);
  writeKept(store, KEY, theme === "system" ? undefined : theme);
}

/** Until the page is left. */
function showTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

/** The look that a partner's page was given. By script: the policy allows no styles in the page. */
export function applyLook({ appearance, accent }: NonNullable<Session["portal"]>): void {
  if (appearance !== "system") showTheme(appearance);
  const { style } = document.documentElement;
  for (const theme of ACCENT_THEMES) {
    const readable = accent === null ? undefined : accentFor(theme, accent);
    if (readable === undefined) continue;
    style.setProperty(`--accent-${theme}`, readable.accent);
    style.setProperty(`--accent-${theme}-soft`, readable.soft);
  }
}
