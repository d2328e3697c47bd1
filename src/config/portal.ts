import { Type } from "typebox";
import { APPEARANCES, PORTAL_ACCENT, PORTAL_NAME } from "../model/portal-theme.ts";
import { oneOf } from "../model/shape.ts";
import { optionalText, withVariables } from "./setting-schema.ts";

/** The page for partners that a portal link opens. */
export const Portal = Type.Object(
  withVariables("POSTHORN_PORTAL_", {
    frame_origins: Type.Array(
      Type.String({
        maxLength: 255,
        // A star stands for subdomains only: with one alone every site could show it.
        pattern: "^https?://(\\*\\.)?[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)*(:[0-9]{1,5})?$",
        hint: "give an origin without a path, such as `https://app.example.com` or `https://*.example.com`",
      }),
      {
        maxItems: 50,
        default: [],
        description: "Origins of sites that may show it in a frame, such as `https://app.example.com`; none by default",
      },
    ),
    name: Type.String({
      ...PORTAL_NAME,
      default: "Webhooks",
      description: "Its heading, for example the name of your product",
    }),
    accent: optionalText({
      ...PORTAL_ACCENT,
      description:
        "Colour of its buttons and links, as `#rrggbb`; made darker or lighter where it would be hard to read",
    }),
    appearance: oneOf(APPEARANCES, {
      default: "system",
      description: "`light` or `dark`; with `system` the visitor chooses",
    }),
  }),
  { additionalProperties: false, default: {} },
);
