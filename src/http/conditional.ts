import type { FastifyReply, FastifyRequest } from "fastify";
import { etagOf } from "../registry/if-match.ts";
import type { Entry } from "../registry/resource.ts";

export function sendWithEtag(reply: FastifyReply, etag: string, body: object): FastifyReply {
  return reply.header("etag", etag).send(body);
}

export function readIfMatch(request: FastifyRequest): string | undefined {
  return request.headers["if-match"];
}

export function sendEntry<Thing>(
  reply: FastifyReply,
  entry: Entry<Thing>,
  present: (thing: Thing) => object,
): FastifyReply {
  return sendWithEtag(reply, etagOf(entry), present(entry.thing));
}
