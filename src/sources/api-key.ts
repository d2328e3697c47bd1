import { Type } from "typebox";
import { HEADER_SECRET } from "../model/secrets.ts";
import { kindOptions, textOption } from "./kind-options.ts";
import { badSignature, getHeader, isOneOf } from "./signatures.ts";
import type { KindSettings, PushedSourceKind } from "./source-kind.ts";

/** A key in a header, alone or after `Bearer`. Everything else is the same as for a generic source. */
export const apiKey: PushedSourceKind = {
  name: "api-key",
  options: kindOptions({
    header: Type.Optional(
      Type.String({
        pattern: "^[A-Za-z0-9-]{1,64}$",
        default: "x-api-key",
        description: "The header with the key",
      }),
    ),
  }),
  needsSecret: true,
  queuedStatus: 202,
  secretForm: () => HEADER_SECRET,
  verify(request, settings) {
    const given = getHeader(request, headerOf(settings)).replace(/^bearer +/i, "");
    if (!isOneOf(given, settings.secrets)) throw badSignature("The key is not a key of this source.");
  },
};

function headerOf(settings: KindSettings): string {
  return (textOption(settings, "header") ?? "x-api-key").toLowerCase();
}
