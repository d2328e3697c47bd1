import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ACCENT_THEMES, accentFor } from "../../../dashboard/src/layout/accent.ts";

const TOKENS = readFileSync(new URL("../../../dashboard/src/styles/tokens.css", import.meta.url), "utf8");
const LIGHT = TOKENS.slice(0, TOKENS.indexOf("@media"));
const DARK = TOKENS.slice(TOKENS.indexOf(':root[data-theme="dark"]'));

function colourOf(theme: string, name: string): string {
  const found = new RegExp(`--${name}: (#[0-9a-f]{6});`).exec(theme === "light" ? LIGHT : DARK)?.[1];
  if (found === undefined) throw new Error(`tokens.css has no colour --${name} in the ${theme} theme`);
  return found;
}

/** WCAG 2.2. */
function contrast(one: string, other: string): number {
  const [low, high] = [luminance(one), luminance(other)].toSorted((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5]
    .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((share) => (share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4)) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const LEVELS = ["00", "40", "80", "bf", "ff"];
const COLOURS = LEVELS.flatMap((red) => LEVELS.flatMap((green) => LEVELS.map((blue) => `#${red}${green}${blue}`)));
const GROUNDS = ["ground", "surface", "surface-raised", "surface-sunk"];

describe("the dark theme", () => {
  it("has the same colours by choice as by a dark system", () => {
    const bySystem = TOKENS.slice(TOKENS.indexOf("@media"), TOKENS.indexOf("/* The same"));
    const colours = (css: string) => css.match(/--[^;]+;/g);
    expect(colours(bySystem)?.length).toBeGreaterThan(20);
    expect(colours(DARK)).toEqual(colours(bySystem));
  });
});

describe("a partner's colour", () => {
  it.each(ACCENT_THEMES)("can be read on every ground of the %s theme, and text can be read on it", (theme) => {
    for (const colour of COLOURS) {
      const { accent = "", soft = "" } = accentFor(theme, colour) ?? {};
      for (const ground of [...GROUNDS.map((name) => colourOf(theme, name)), soft]) {
        expect([colour, ground, contrast(accent, ground) >= 4.5]).toEqual([colour, ground, true]);
      }
      expect([colour, contrast(accent, colourOf(theme, "accent-text")) >= 4.5]).toEqual([colour, true]);
    }
    // The negative control: as they were given, many could not be read.
    const unreadable = COLOURS.filter((colour) => contrast(colour, colourOf(theme, "surface")) < 4.5);
    expect(unreadable.length).toBeGreaterThan(20);
  });

  it("stays as it is where it can be read", () => {
    expect(accentFor("light", "#0a4d8f")?.accent).toBe("#0a4d8f");
    expect(accentFor("dark", "#ffff00")?.accent).toBe("#ffff00");
  });

  it.each(["red", "#fff", "#12345g", "#123456;", "url(x)", ""])("is nothing else: %j", (text) => {
    expect(accentFor("light", text)).toBeUndefined();
  });
});
