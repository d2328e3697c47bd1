import { Type } from "typebox";
import { optionalText, withVariables } from "./setting-schema.ts";

/** The page for partners that a portal link opens. */
export const Portal = Type.Object(
  withVariables("POSTHORN_PORTAL_", {
    frame_origins: Type.Array(
      Type.String({
        maxLength: 255,
        pattern: "^https?://[A-Za-z0-9.*-]+(:[0-9]{1,5})?$",
        hint: "give an origin without a path, such as `https://app.example.com`",
      }),
      {
        maxItems: 50,
        default: [],
        description: "Origins of sites that may show it in a frame, such as `https://app.example.com`; none by default",
      },
    ),
    name: Type.String({
      default: "Webhooks",
      minLength: 1,
      maxLength: 60,
      description: "Its heading, for example the name of your product",
    }),
    accent: optionalText({
      pattern: "^#[0-9a-fA-F]{6}$",
      hint: "give a colour as `#rrggbb`",
      description: "Colour of its buttons and links, as `#rrggbb`",
    }),
  }),
  { additionalProperties: false, default: {} },
);
