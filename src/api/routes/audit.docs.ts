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
      via: textOrNull("The method and route, or the command line command"),
      address: textOrNull("The IP address that the request came from"),
      act: text("subscription.update"),
      kind: text("subscription", "The kind of object that was changed"),
      id: text(EXAMPLE.subscription),
      tenant_id: textOrNull("The tenant that owns the object"),
      before: nullable(
        Type.With(Anything, { description: "The changed fields before the change; secrets are masked" }),
      ),
      after: nullable(Type.With(Anything, { description: "The changed fields after the change; secrets are masked" })),
      details: nullable(Type.With(Anything, { description: "More facts, such as a reason or a number" })),
      erased: Type.Boolean({ description: "True when the content of the entry was erased with its tenant" }),
      hash: text(HASH, "SHA-256 of the previous entry's hash and this entry"),
    },
    "One entry of the audit log: who did what, and when",
  ),
);

export const StatusChange = closed({
  at: Time,
  from: textOrNull("Null when the subscription was created"),
  to: textOrNull(),
  actor: text(
    `key:${EXAMPLE.key}`,
    "As in the audit log. A portal link is told only `portal`, `gateway`, or `operator` for everybody else",
  ),
  act: text("subscription.pause"),
  reason: textOrNull("Why the gateway itself made the change"),
  audit_seq: nullable(
    Type.Integer({ minimum: 1, description: "The `seq` of the entry in the audit log; null for a portal link" }),
  ),
});

const Mark = closed({
  seq: Type.Integer({ minimum: 1 }),
  hash: text(HASH),
  at: Type.Integer({ description: "Milliseconds since 1970" }),
  signature: text("c2lnbmF0dXJl", "Ed25519, in base64"),
});

const AuditVerdict = closed({
  valid: Type.Boolean({ examples: [true] }),
  entries: Count,
  first_wrong: nullable(closed({ seq: Type.Integer(), reason: Type.String() })),
  head: nullable(Mark),
  public_key: text(
    "pka_mJ8O6r3vV3tq0c2yTnSP3mZ0m2f5X9l6o8lFZr1pQ0A=",
    "The public key that verifies the signature of the head",
  ),
});

export const AUDIT_DOCS: AreaDocs = {
  tag: "Audit",
  description: "Who did what: a hash chain of entries with a signed head",
  operations: {
    "GET /api/v1/audit": {
      description: "A key that is bound to a tenant sees only entries of that tenant.",
      query: { kind: "subscription" },
      answer: page(AuditEntry, "Entries, latest first"),
    },
    "GET /api/v1/audit/export": {
      description:
        "The first line is the signed head; each further line is an entry. `posthorn verify-audit FILE` checks it " +
        "offline.",
      answer: {
        description: "All entries, oldest first",
        contentType: "application/x-ndjson",
        schema: Type.String(),
        example: `{"posthorn_audit":1}\n`,
      },
      errors: ["too_many_requests"],
    },
    "GET /api/v1/audit/verify": {
      answer: {
        description: "Whether all entries are unchanged",
        schema: AuditVerdict,
      },
    },
    "GET /api/v1/subscriptions/:id/history": {
      params: { id: EXAMPLE.subscription },
      answer: page(StatusChange, "Status changes, latest first"),
    },
  },
};
