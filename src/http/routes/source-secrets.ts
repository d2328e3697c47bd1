import type { FastifyInstance, FastifyReply } from "fastify";
import { Type, type Static } from "typebox";
import { PosthornError } from "../../domain/errors.ts";
import type { SourceRecord } from "../../registry/sources/source-record.ts";
import type { Sources } from "../../registry/sources/sources.ts";
import { sendEntry } from "../conditional.ts";
import { presentSource } from "../present/source.ts";
import { asked } from "./resource-routes.ts";
import type { Caller } from "../../registry/keys.ts";

const MAX_OVERLAP_S = 31_536_000;
const DEFAULT_OVERLAP_S = 1_209_600;

const RotateBody = Type.Object(
  {
    secret: Type.Optional(
      Type.String({ minLength: 1, maxLength: 4096, description: "As the sender has it; made when not given" }),
    ),
    overlap_s: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_OVERLAP_S,
        default: DEFAULT_OVERLAP_S,
        description: "Seconds in which those before it count too; 0 ends them at once",
      }),
    ),
  },
  { additionalProperties: false },
);

export interface SourceSecretRoutesOptions {
  sources: Sources;
  /** Somebody has seen the path token. */
  onTokenRead: (record: SourceRecord, caller: Caller | undefined) => void;
  /** Somebody has changed what the source verifies with. */
  onSecretsChanged: (record: SourceRecord, what: "rotated" | "retired", caller: Caller | undefined) => void;
}

export function addSourceSecretRoutes(app: FastifyInstance, options: SourceSecretRoutesOptions): void {
  const { sources } = options;
  app.post<{ Params: { name: string }; Body: Static<typeof RotateBody> | undefined }>(
    "/api/v1/sources/:name/rotate-secret",
    {
      config: { scope: "admin" },
      schema: { summary: "Give a source a new secret", body: Type.Union([RotateBody, Type.Null()]) },
    },
    async (request, reply) => {
      const { secret: given, overlap_s: overlapS = DEFAULT_OVERLAP_S } = request.body ?? {};
      const rotation = { secret: given, overlapMs: overlapS * 1000 };
      const { entry, secret } = await sources.rotateSecret(request.params.name, rotation, asked(request));
      options.onSecretsChanged(entry.thing, "rotated", request.caller);
      return sendEntry(hide(reply), entry, (record) => ({ ...presentSource(record), secret }));
    },
  );

  app.delete<{ Params: { name: string; id: string } }>(
    "/api/v1/sources/:name/secrets/:id",
    { config: { scope: "admin" }, schema: { summary: "Retire a secret of a source at once" } },
    async (request, reply) => {
      const { name, id } = request.params;
      const entry = await sources.retireSecret(name, id, asked(request));
      options.onSecretsChanged(entry.thing, "retired", request.caller);
      return sendEntry(reply, entry, presentSource);
    },
  );

  app.get<{ Params: { name: string } }>(
    "/api/v1/sources/:name/path-token",
    { config: { scope: "admin" }, schema: { summary: "Read the path that a source takes webhooks at" } },
    async (request, reply) => {
      const { thing: record } = sources.get(request.params.name, request.caller?.tenantId);
      const { name, pathToken } = record.source;
      if (pathToken === undefined) throw new PosthornError("not_found", `The source ${name} has no path token.`);
      options.onTokenRead(record, request.caller);
      return hide(reply).send({ name, path_token: pathToken, path: `/webhook/${name}/${pathToken}` });
    },
  );
}

/** What shows a secret is kept by nobody on the way. */
function hide(reply: FastifyReply): FastifyReply {
  return reply.header("cache-control", "no-store");
}
