import { Type } from "typebox";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Anything,
  closed,
  Count,
  named,
  nullable,
  page,
  text,
  textOrNull,
  Time,
  type AreaDocs,
} from "../openapi/operation-docs.ts";

const HASH = "9f2c7d4f0c4f7a6d0a4f4f7f6f8c1d2e3b4a5968778695a4b3c2d1e0f9e8d7c6";

export const AuditEntry = named(
  "AuditEntry",
  closed(
    {
      seq: Type.Integer({ minimum: 1, description: "1, 2, 3 …, without a gap" }),
      at: Time,
      actor: text(`key:${EXAMPLE.key}`, "`key:ID`, `config`, `gateway` or `local:USER`"),
      via: textOrNull("Method and route, or the command"),
      address: textOrNull("Where the request came from"),
      act: text("subscription.update"),
      kind: text("subscription", "What it is about"),
      id: text(EXAMPLE.subscription),
      tenant_id: textOrNull("Whose it is"),
      before: nullable(Type.With(Anything, { description: "What was different before; secrets are masked" })),
      after: nullable(Type.With(Anything, { description: "What is different now; secrets are masked" })),
      details: nullable(Type.With(Anything, { description: "What else is known: why, how many" })),
      erased: Type.Boolean({ description: "What it said was erased with its tenant" }),
      hash: text(HASH, "SHA-256 over the hash before it and this entry"),
    },
    "Who did what",
  ),
);

export const StatusChange = closed({
  at: Time,
  from: textOrNull("Null for a new one"),
  to: textOrNull(),
  actor: text(`key:${EXAMPLE.key}`),
  act: text("subscription.pause"),
  reason: textOrNull("Why the gateway did it by itself"),
  audit_seq: Type.Integer({ minimum: 1, description: "Of the entry in the audit log" }),
});

const Mark = closed({
  seq: Type.Integer({ minimum: 1 }),
  hash: text(HASH),
  at: Type.Integer({ description: "Milliseconds since 1970" }),
  signature: text("c2lnbmF0dXJl", "Ed25519, in base64"),
});

export const AuditVerdict = closed({
  valid: Type.Boolean({ examples: [true] }),
  entries: Count,
  first_wrong: nullable(closed({ seq: Type.Integer(), reason: Type.String() })),
  head: nullable(Mark),
  public_key: text("pka_mJ8O6r3vV3tq0c2yTnSP3mZ0m2f5X9l6o8lFZr1pQ0A=", "What the head is checked with"),
});

export const AUDIT_DOCS: AreaDocs = {
  tag: "Audit",
  description: "Who did what, in a chain of hashes whose head is signed",
  operations: {
    "GET /api/v1/audit": {
      description: "A key that is bound to a tenant sees what concerns that tenant.",
      query: { kind: "subscription" },
      answer: page(AuditEntry, "The latest first"),
    },
    "GET /api/v1/audit/export": {
      description:
        "The first line has the signed head; each other one an entry. `posthorn verify-audit FILE` checks it offline.",
      answer: {
        description: "All entries, the oldest first",
        contentType: "application/x-ndjson",
        schema: Type.String(),
        example: `{"posthorn_audit":1}\n`,
      },
      errors: ["too_many_requests"],
    },
    "GET /api/v1/audit/verify": {
      answer: {
        description: "Whether every entry is as it was written",
        schema: AuditVerdict,
      },
    },
    "GET /api/v1/subscriptions/:id/history": {
      params: { id: EXAMPLE.subscription },
      answer: page(StatusChange, "When, from what, to what, why and by whom"),
    },
  },
};
