import { Type, type TProperties } from "typebox";
import type { ArrivedRequest, KindSettings } from "./source-kind.ts";

/** The options of a kind: these, and no others. */
export function kindOptions<Properties extends TProperties>(properties: Properties) {
  return Type.Object(properties, { additionalProperties: false });
}

export const ToleranceOption = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 604_800,
    description: "How many seconds the time of a signature may be in the past or future",
  }),
);

/** For kinds without further options. */
export const ToleranceAlone = kindOptions({ tolerance_s: ToleranceOption });

export const UrlOption = Type.Optional(
  Type.String({
    pattern: "^https?://[\\x21-\\x7e]+$",
    maxLength: 2048,
    description: "The URL that the provider uses, if it is not POSTHORN_PUBLIC_URL and the path of the source",
  }),
);

/** The URL that the sender has signed. */
export function signedUrl({ url }: ArrivedRequest, settings: KindSettings): string {
  return textOption(settings, "url") ?? url;
}

export function textOption({ options }: KindSettings, name: string): string | undefined {
  const given = options[name];
  return typeof given === "string" ? given : undefined;
}

export function textsOption({ options }: KindSettings, name: string): readonly string[] {
  const given = options[name];
  return Array.isArray(given) ? given.filter((item) => typeof item === "string") : [];
}
