import { Type } from "typebox";
import type { KindSettings } from "./source-kind.ts";

/** Options that several kinds have; each kind lists its own in a closed object. */

export const ToleranceOption = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 604_800,
    description: "How many seconds the time of a signature may be in the past or future",
  }),
);

/** For kinds without further options. */
export const ToleranceAlone = Type.Object({ tolerance_s: ToleranceOption }, { additionalProperties: false });

export const UrlOption = Type.Optional(
  Type.String({
    pattern: "^https?://[\\x21-\\x7e]+$",
    maxLength: 2048,
    description: "The URL that the provider uses, if it is not POSTHORN_PUBLIC_URL and the path of the source",
  }),
);

export function textOption({ options }: KindSettings, name: string): string | undefined {
  const given = options[name];
  return typeof given === "string" ? given : undefined;
}

export function textsOption({ options }: KindSettings, name: string): readonly string[] {
  const given = options[name];
  return Array.isArray(given) ? given.filter((item) => typeof item === "string") : [];
}
