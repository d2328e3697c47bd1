import type { FastifyInstance } from "fastify";
import { Readable } from "node:stream";
import { Type, type Static } from "typebox";
import type { AuditTrail, OpenTrail } from "../../resources/audit-trail.ts";
import type { Subscriptions } from "../../resources/subscriptions/subscriptions.ts";
import type { Export, ExportGate } from "../export-gate.ts";
import { presentAuditEntry, presentMark, presentStatusChange } from "../present/audit.ts";
import { placeOwnerOf } from "../../resources/keys.ts";
import { PageQuery, pageOf, pageQuery, presentPage } from "./paging.ts";

const Word = (description: string) => Type.Optional(Type.String({ maxLength: 256, description }));
const Moment = (description: string) => Type.Optional(Type.String({ format: "date-time", description }));

const ListQuery = pageQuery({
  actor: Word("`key:ID`, `config`, `gateway` or `local:USER`"),
  act: Word("`subscription.update`"),
  kind: Word("The kind of object: `subscription`, `source`, `key` …"),
  id: Word("The id of the object; only together with `kind`"),
  tenant_id: Word("The tenant that owns the object"),
  since: Moment("Only entries at this time or later"),
  until: Moment("Only entries before this time"),
});
const HistoryQuery = Type.Object(PageQuery, { additionalProperties: false });

const OPERATOR = { scope: "admin", unbound: true } as const;

export interface AuditRoutesOptions {
  trail: AuditTrail;
  subscriptions: Pick<Subscriptions, "getById">;
  exports: ExportGate;
}

export function addAuditRoutes(app: FastifyInstance, { trail, subscriptions, exports }: AuditRoutesOptions): void {
  app.get<{ Querystring: Static<typeof ListQuery> }>(
    "/api/v1/audit",
    { config: { scope: "admin" }, schema: { summary: "List the audit log, latest first", querystring: ListQuery } },
    async ({ query, caller }) => {
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
  );

  app.get(
    "/api/v1/audit/export",
    {
      // A HEAD request would read everything and return nothing.
      exposeHeadRoute: false,
      config: OPERATOR,
      schema: { summary: "Export the audit log with its hashes, as NDJSON" },
    },
    async (request, reply) => {
      const { raw } = reply;
      const place = exports.enter(placeOwnerOf(request.caller), () => raw.destroy());
      raw.once("close", place.leave);
      const opened = await place.read(() => trail.open());
      return reply
        .type("application/x-ndjson")
        .send(Readable.from(exportTrail(opened, trail.publicKey, place), { objectMode: false }));
    },
  );

  app.get(
    "/api/v1/audit/verify",
    { exposeHeadRoute: false, config: OPERATOR, schema: { summary: "Verify the audit log from its first entry" } },
    async () => {
      const { entries, head, fault } = await trail.verify();
      return {
        valid: fault === undefined,
        entries,
        first_wrong: fault === undefined ? null : { seq: fault.seq, reason: fault.why },
        head: presentMark(head),
        public_key: trail.publicKey,
      };
    },
  );

  app.get<{ Params: { id: string }; Querystring: Static<typeof HistoryQuery> }>(
    "/api/v1/subscriptions/:id/history",
    {
      config: { scope: "read" },
      schema: { summary: "List the status changes of a subscription, latest first", querystring: HistoryQuery },
    },
    async ({ params, query, caller }) => {
      const { id, tenantId } = subscriptions.getById(params.id, caller?.tenantId);
      const filter = { kind: "subscription", id, tenantId, member: "status" };
      const isForPartner = caller?.isPartner === true;
      return presentPage(await trail.list(filter, pageOf(query)), (row) => presentStatusChange(row, isForPartner));
    },
  );
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
    place.noteTaken();
  }
}
