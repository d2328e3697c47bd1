import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Type, type Static } from "typebox";
import { PosthornError } from "../../domain/errors.ts";
import type { Caller } from "../../registry/keys.ts";
import type { SourceRecord, Sources } from "../../manage/sources.ts";
import { presentUsedSource } from "../present/source.ts";

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
  const get = (request: FastifyRequest) =>
    sources.get((request.params as { name: string }).name, request.caller?.tenantId);

  app.post<{ Params: { name: string }; Body: Static<typeof RotateBody> | undefined }>(
    "/api/v1/sources/:name/rotate-secret",
    {
      config: { scope: "admin" },
      schema: { summary: "Give a source a new secret", body: Type.Union([RotateBody, Type.Null()]) },
    },
    async (request, reply) => {
      get(request);
      const { secret, overlap_s: overlapS = DEFAULT_OVERLAP_S } = request.body ?? {};
      const rotated = await sources.rotateSecret(request.params.name, { secret, overlapMs: overlapS * 1000 });
      options.onSecretsChanged(rotated.record, "rotated", request.caller);
      return hide(reply).send({ ...presentUsedSource(rotated.record), secret: rotated.secret });
    },
  );

  app.delete<{ Params: { name: string; id: string } }>(
    "/api/v1/sources/:name/secrets/:id",
    { config: { scope: "admin" }, schema: { summary: "Retire a secret of a source at once" } },
    async (request) => {
      get(request);
      const record = await sources.retireSecret(request.params.name, request.params.id);
      options.onSecretsChanged(record, "retired", request.caller);
      return presentUsedSource(record);
    },
  );

  app.get<{ Params: { name: string } }>(
    "/api/v1/sources/:name/path-token",
    { config: { scope: "admin" }, schema: { summary: "Read the path that a source takes webhooks at" } },
    async (request, reply) => {
      const record = get(request);
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
