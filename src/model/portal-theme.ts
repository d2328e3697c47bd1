import { Type, type Static } from "typebox";
import { oneOf, optionalText } from "./shape.ts";

/** How the partner page looks. `system`: as the visitor's device is set, or as the visitor chooses. */
export const APPEARANCES = ["system", "light", "dark"] as const;
export type Appearance = (typeof APPEARANCES)[number];

/** The rules for each value, in the configuration and with a link. */
export const PORTAL_NAME = { minLength: 1, maxLength: 60, pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]+$" } as const;
/** Nothing else, because it becomes part of the page's style. */
export const PORTAL_ACCENT = { pattern: "^#[0-9a-fA-F]{6}$", hint: "give a colour as `#rrggbb`" } as const;

/** What a link changes of the configured look. */
export const LinkTheme = Type.Object(
  {
    name: optionalText({ ...PORTAL_NAME, description: "The heading of the page", examples: ["Acme"] }),
    accent: optionalText({
      ...PORTAL_ACCENT,
      description: "Colour of buttons and links, `#rrggbb`; made darker or lighter where it would be hard to read",
      examples: ["#0a7d4f"],
    }),
    appearance: Type.Optional(
      oneOf(APPEARANCES, { description: "`light` and `dark` are fixed; with `system` the visitor chooses" }),
    ),
  },
  { additionalProperties: false, description: "The look of the page, instead of the settings `portal.*`" },
);
export type LinkTheme = Static<typeof LinkTheme>;

export type PortalTheme = LinkTheme & Required<Pick<LinkTheme, "name" | "appearance">>;
