import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { PosthornError } from "../domain/errors.ts";
import { etagOf as etagOfVersion } from "../registry/if-match.ts";
import type { Entry } from "../registry/kind.ts";

/** Which version of a thing somebody has seen (RFC 9110 §13), so that two who change it do not undo each other. */
export function etagOf(shown: object): string {
  return `"${createHash("sha256").update(JSON.stringify(shown)).digest("base64url").slice(0, 22)}"`;
}

/** Refuses a change that was meant for another version. Without `If-Match` any is meant. */
export function checkIfMatch(request: FastifyRequest, etag: string | undefined): void {
  const given = request.headers["if-match"];
  if (given === undefined) return;
  const isMeant = etag !== undefined && given.split(",").some((one) => ["*", etag].includes(one.trim()));
  if (isMeant) return;
  const now = etag === undefined ? "there is none" : `it is ${etag} now`;
  throw new PosthornError("precondition_failed", `If-Match says ${given}, but ${now}. Read it again, then change it.`);
}

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
  return sendWithEtag(reply, etagOfVersion(entry), present(entry.thing));
}
