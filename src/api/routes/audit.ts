import { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import type { AuditData, AuditEntry as StoredEntry, AuditMark, AuditRow } from "../../model/audit.ts";
import type { OpenTrail } from "../../resources/audit-trail.ts";
import { placeOwnerOf } from "../../resources/keys.ts";
import type { Export } from "../export-gate.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { isoTime, pageOf, presentAs, presentPage } from "../present.ts";
import { ADMIN, OPERATOR, READ, routesOf, type Parts } from "./route.ts";

const HASH = "9f2c7d4f0c4f7a6d0a4f4f7f6f8c1d2e3b4a5968778695a4b3c2d1e0f9e8d7c6";

const AuditEntry = Doc.shape("AuditEntry", "One entry of the audit log: who did what, and when", () => ({
  seq: Type.Integer({ minimum: 1, description: "1, 2, 3 …, without a gap" }),
  at: Doc.Time,
  actor: Doc.text(`key:${EXAMPLE.key}`, "`key:ID`, `config`, `gateway` or `local:USER`"),
  via: Doc.textOrNull("The method and route, or the command line command"),
  address: Doc.textOrNull("The IP address that the request came from"),
  act: Doc.text("subscription.update"),
  kind: Doc.text("subscription", "The kind of object that was changed"),
  id: Doc.text(EXAMPLE.subscription),
  tenant_id: Doc.textOrNull("The tenant that owns the object"),
  before: Doc.nullable(
    Type.With(Doc.Anything, { description: "The changed fields before the change; secrets are masked" }),
  ),
  after: Doc.nullable(
    Type.With(Doc.Anything, { description: "The changed fields after the change; secrets are masked" }),
  ),
  details: Doc.nullable(Type.With(Doc.Anything, { description: "More facts, such as a reason or a number" })),
  erased: Doc.flag("True when the content of the entry was erased with its tenant"),
  hash: Doc.text(HASH, "SHA-256 of the previous entry's hash and this entry"),
}));

const StatusChange = Doc.closed(() => ({
  at: Doc.Time,
  from: Doc.textOrNull("Null when the subscription was created"),
  to: Doc.textOrNull(),
  actor: Doc.text(
    `key:${EXAMPLE.key}`,
    "As in the audit log. A portal link is told only `portal`, `gateway`, or `operator` for everybody else",
  ),
  act: Doc.text("subscription.pause"),
  reason: Doc.textOrNull("Why the gateway itself made the change"),
  audit_seq: Doc.nullable(
    Type.Integer({ minimum: 1, description: "The `seq` of the entry in the audit log; null for a portal link" }),
  ),
}));

const Mark = Doc.closed(() => ({
  seq: Type.Integer({ minimum: 1 }),
  hash: Doc.text(HASH),
  at: Type.Integer({ description: "Milliseconds since 1970" }),
  signature: Doc.text("c2lnbmF0dXJl", "Ed25519, in base64"),
}));

const AuditVerdict = Doc.closed(() => ({
  valid: Type.Boolean({ examples: [true] }),
  entries: Doc.Count,
  first_wrong: Doc.nullable(Doc.closed({ seq: Type.Integer(), reason: Type.String() })),
  head: Doc.nullable(Mark),
  public_key: Doc.text(
    "pka_mJ8O6r3vV3tq0c2yTnSP3mZ0m2f5X9l6o8lFZr1pQ0A=",
    "The public key that verifies the signature of the head",
  ),
}));

const Word = (description: string) => Type.String({ maxLength: 256, description });

const ListQuery = Doc.pageQuery({
  actor: Word("`key:ID`, `config`, `gateway` or `local:USER`"),
  act: Word("`subscription.update`"),
  kind: Word("The kind of object: `subscription`, `source`, `key` …"),
  id: Word("The id of the object; only together with `kind`"),
  tenant_id: Word("The tenant that owns the object"),
  since: Doc.time("Only entries at this time or later"),
  until: Doc.time("Only entries before this time"),
});

export function addAuditRoutes(app: FastifyInstance, { trail, subscriptions, exports }: Parts): void {
  const route = routesOf(app, "Audit");
  route("GET /api/v1/audit", ADMIN, "List the audit log, latest first", {
    query: ListQuery,
    description: "A key that is bound to a tenant sees only entries of that tenant.",
    example: { query: { kind: "subscription" } },
    answer: () => Doc.page(AuditEntry, "Entries, latest first"),
    async handle({ query, caller }) {
      const { actor, act, kind, id, since, until } = query;
      const filter = {
        tenantId: caller?.tenantId ?? query.tenant_id,
        actor,
        act,
        kind,
        id,
        since: since === undefined ? undefined : Date.parse(since),
        until: until === undefined ? undefined : Date.parse(until),
      };
      return presentPage(await trail.list(filter, pageOf(query)), presentAuditEntry);
    },
  });

  route("GET /api/v1/audit/export", OPERATOR, "Export the audit log with its hashes, as NDJSON", {
    // A HEAD request would read everything and return nothing.
    exposeHeadRoute: false,
    description:
      "The first line is the signed head; each further line is an entry. `posthorn verify-audit FILE` checks it " +
      "offline.",
    answer: () => ({
      description: "All entries, oldest first",
      contentType: "application/x-ndjson",
      schema: Type.String(),
      example: `{"posthorn_audit":1}\n`,
    }),
    errors: ["too_many_requests"],
    async handle(request, reply) {
      const { raw } = reply;
      const place = exports.enter(placeOwnerOf(request.caller), () => raw.destroy());
      raw.once("close", place.leave);
      const opened = await place.read(() => trail.open());
      return reply
        .type("application/x-ndjson")
        .send(Readable.from(exportTrail(opened, trail.publicKey, place), { objectMode: false }));
    },
  });

  route("GET /api/v1/audit/verify", OPERATOR, "Verify the audit log from its first entry", {
    exposeHeadRoute: false,
    answer: () => Doc.shows(AuditVerdict, "Whether all entries are unchanged"),
    async handle() {
      const { entries, head, fault } = await trail.verify();
      return {
        valid: fault === undefined,
        entries,
        first_wrong: fault === undefined ? null : { seq: fault.seq, reason: fault.why },
        head: presentMark(head),
        public_key: trail.publicKey,
      };
    },
  });

  route("GET /api/v1/subscriptions/:id/history", READ, "List the status changes of a subscription, latest first", {
    query: Doc.pageQuery({}),
    example: { params: { id: EXAMPLE.subscription } },
    answer: () => Doc.page(StatusChange, "Status changes, latest first"),
    async handle({ params, query, caller }) {
      const { id, tenantId } = subscriptions.getById(params.id, caller?.tenantId);
      const filter = { kind: "subscription", id, tenantId, member: "status" };
      const isForPartner = caller?.isPartner === true;
      return presentPage(await trail.list(filter, pageOf(query)), (row) => presentStatusChange(row, isForPartner));
    },
  });
}

/** The first line has the head of the log, so that `posthorn verify-audit` can check the export without a gateway. */
async function* exportTrail(opened: OpenTrail, publicKey: string, place: Export): AsyncGenerator<string, void> {
  const { storeId, head, checkpoint } = opened;
  const marks = { head: presentMark(head), checkpoint: presentMark(checkpoint) };
  yield `${JSON.stringify({ posthorn_audit: 1, store_id: storeId, public_key: publicKey, ...marks })}\n`;
  for await (const rows of opened.rows()) {
    yield rows
      .map(
        ({ seq, entry, data, hash }) => `{"seq":${seq},"entry":${entry},"data":${data ?? "null"},"hash":"${hash}"}\n`,
      )
      .join("");
    place.recordTaken();
  }
}

function presentAuditEntry(row: AuditRow) {
  const entry = JSON.parse(row.entry) as StoredEntry;
  const { seq, hash } = row;
  const erased = entry.data !== null && row.data === undefined;
  const { before, after, details, address } = readData(row);
  const data = { before, after, details, address };
  return presentAs(AuditEntry, { ...entry, ...data, seq, hash, tenantId: entry.tenant_id, erased });
}

/** A partner does not get to know keys and users of others, nor how many entries the log has. */
function presentStatusChange(row: AuditRow, isForPartner: boolean): Doc.AnswerOf<typeof StatusChange> {
  const { at, actor, act } = JSON.parse(row.entry) as StoredEntry;
  const { before, after, details } = readData(row);
  return {
    at: isoTime(at),
    from: (before?.["status"] as string | undefined) ?? null,
    to: (after?.["status"] as string | undefined) ?? null,
    actor: isForPartner ? toRole(actor) : actor,
    act,
    reason: (details?.["reason"] as string | undefined) ?? null,
    audit_seq: isForPartner ? null : row.seq,
  };
}

function toRole(actor: string): string {
  if (actor === "gateway") return actor;
  return actor.startsWith("portal:") ? "portal" : "operator";
}

/** Exactly as it is signed, so that anybody can verify it. */
function presentMark(mark: AuditMark | undefined) {
  return mark === undefined ? null : { seq: mark.seq, hash: mark.hash, at: mark.at, signature: mark.signature };
}

function readData({ data }: AuditRow): Partial<AuditData> {
  return data === undefined ? {} : (JSON.parse(data) as AuditData);
}
