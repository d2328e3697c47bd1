// A partner's colour in both themes: changed only as far as text in it, and on it, can be read (WCAG 2.2 AA).

type Rgb = readonly [red: number, green: number, blue: number];

interface Ground {
  /** The grounds of the theme that are worst for text in the colour, from the styles. */
  hardest: Rgb;
  surface: Rgb;
  /** Toward which a colour that is hard to read is moved. */
  away: Rgb;
}

const GROUNDS = {
  light: { hardest: [0xf0, 0xf2, 0xf5], surface: [0xff, 0xff, 0xff], away: [0, 0, 0] },
  dark: { hardest: [0x1e, 0x23, 0x30], surface: [0x17, 0x1b, 0x24], away: [0xff, 0xff, 0xff] },
} as const satisfies Record<string, Ground>;
export type AccentTheme = keyof typeof GROUNDS;

export const ACCENT_THEMES = Object.keys(GROUNDS) as AccentTheme[];
const LEAST_CONTRAST = 4.6;
const STEPS = 50;
/** How much of the colour is in the ground of what is chosen. */
const SOFTNESS = 0.12;

/** `accent` as `#rrggbb`; else undefined. */
export function accentFor(theme: AccentTheme, accent: string): { accent: string; soft: string } | undefined {
  const given = parse(accent);
  if (given === undefined) return undefined;
  const { hardest, surface, away } = GROUNDS[theme];
  for (let step = 0; step <= STEPS; step++) {
    const colour = mix(given, away, step / STEPS);
    const soft = mix(surface, colour, SOFTNESS);
    const isReadable = [hardest, surface, soft].every((ground) => contrast(colour, ground) >= LEAST_CONTRAST);
    if (isReadable) return { accent: format(colour), soft: format(soft) };
  }
  return undefined;
}

function parse(text: string): Rgb | undefined {
  if (!/^#[0-9a-f]{6}$/i.test(text)) return undefined;
  const at = (start: number) => Number.parseInt(text.slice(start, start + 2), 16);
  return [at(1), at(3), at(5)];
}

function format(colour: Rgb): string {
  return `#${colour.map((channel) => channel.toString(16).padStart(2, "0")).join("")}`;
}

function mix(from: Rgb, to: Rgb, share: number): Rgb {
  const at = (channel: 0 | 1 | 2) => Math.round(from[channel] + (to[channel] - from[channel]) * share);
  return [at(0), at(1), at(2)];
}

function contrast(one: Rgb, other: Rgb): number {
  const [darker, lighter] = [luminance(one), luminance(other)].toSorted((a, b) => a - b) as [number, number];
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(colour: Rgb): number {
  const [red, green, blue] = colour.map((channel) => {
    const share = channel / 255;
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
