import { Type } from "typebox";
import { orNull, withDefault } from "../model/shape.ts";
import { AUTH_DESCRIPTION, DestinationAuthInput } from "./destination-auth.ts";

/** Settings for all kinds that send requests to a URL. */
export const REQUEST_SETTINGS = {
  retry_on: Type.Optional(
    Type.Object(
      {
        statuses: Type.Optional(Type.Array(Type.Integer({ minimum: 200, maximum: 599 }), { maxItems: 50 })),
        body_contains: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
      },
      { additionalProperties: false, description: "Additional answers that count as failures to retry" },
    ),
  ),
  headers: withDefault(
    orNull(Type.Record(Type.String(), Type.String({ maxLength: 4096 }), { maxProperties: 50 }), {
      description:
        "Sent with every attempt, but to no other origin; their values are shown to nobody: `***`, which sent back " +
        "stands for what is stored",
    }),
    {},
  ),
  allowed_ips: withDefault(
    orNull(Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { minItems: 1, maxItems: 100 }), {
      description: "CIDRs that the destination's address must be in; never opens a private network",
    }),
    null,
  ),
  allow_own_url: withDefault(
    Type.Boolean({
      description: "Allow a `url` that leads back to this gateway; an event that goes round is refused after 8 times",
    }),
    false,
  ),
  auth: withDefault(orNull(DestinationAuthInput, { description: AUTH_DESCRIPTION }), null),
};
