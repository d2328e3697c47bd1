import { Type, type Static } from "typebox";
import { DEFAULT_TENANT } from "./event.ts";

export const SOURCE_NAME_PATTERN = "^[a-z0-9][a-z0-9_-]{0,63}$";

const Place = Type.String({
  pattern: "^(header:[A-Za-z0-9-]{1,64}|body:(/([^~/]|~[01])*)*)$",
  maxLength: 512,
  description: "`header:NAME` or `body:/json/pointer`",
});

/** A generic source as a user declares it. */
export const SourceInput = Type.Object(
  {
    name: Type.String({ pattern: SOURCE_NAME_PATTERN }),
    kind: Type.Optional(Type.Literal("generic", { default: "generic" })),
    tenant_id: Type.Optional(Type.String({ minLength: 1, maxLength: 128, default: DEFAULT_TENANT })),
    status: Type.Optional(
      Type.Union([Type.Literal("active"), Type.Literal("paused"), Type.Literal("closed")], {
        default: "active",
        description: "`paused` answers 503, `closed` 410",
      }),
    ),
    max_bytes: Type.Optional(Type.Integer({ minimum: 1, maximum: 67_108_864, default: 2_097_152 })),
    methods: Type.Optional(
      Type.Array(
        Type.Union([
          Type.Literal("POST"),
          Type.Literal("PUT"),
          Type.Literal("PATCH"),
          Type.Literal("DELETE"),
          Type.Literal("GET"),
        ]),
        { minItems: 1, default: ["POST"] },
      ),
    ),
    event_type: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        default: "webhook.{source}",
        description: "`{source}` stands for the source's name",
      }),
    ),
    id_from: Type.Optional(Place),
    ordering_key_from: Type.Optional(Place),
    priority_from: Type.Optional(Place),
  },
  { additionalProperties: false },
);
export type SourceInput = Static<typeof SourceInput>;

/** Where in a request a value is to be found. */
export type Place = { in: "header"; name: string } | { in: "body"; pointer: readonly string[] };

/** A source as the receiver uses it. */
export interface Source {
  name: string;
  kind: "generic";
  tenantId: string;
  status: "active" | "paused" | "closed";
  maxBytes: number;
  methods: readonly string[];
  /** Already expanded for this source. */
  eventType: string;
  idFrom: Place | undefined;
  orderingKeyFrom: Place | undefined;
  priorityFrom: Place | undefined;
  /** How long its senders wait for an answer, where that is less than a forward may take. */
  answerWithinMs?: number | undefined;
  /** False for a name that only the `*` source answers to. */
  declared: boolean;
}
