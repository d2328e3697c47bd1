import { Type, type TProperties } from "typebox";
import { oneOf } from "../model/shape.ts";
import type { ArrivedRequest, KindSettings } from "./source-kind.ts";

/** The options of a kind: these, and no others. */
export function kindOptions<Properties extends TProperties>(properties: Properties) {
  return Type.Object(properties, { additionalProperties: false });
}

/** The first word is the default. */
export function choice<const Word extends string>(words: readonly Word[], description: string) {
  return Type.Optional(oneOf(words, { default: words[0], description }));
}

export function wholeNumber(minimum: number, maximum: number, description: string, usual?: number) {
  const given = usual === undefined ? {} : { default: usual };
  return Type.Optional(Type.Integer({ minimum, maximum, ...given, description }));
}

export const ToleranceOption = wholeNumber(
  1,
  604_800,
  "How many seconds the time of a signature may be in the past or future",
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
