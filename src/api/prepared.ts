import { createHash } from "node:crypto";
import { promisify } from "node:util";
import type { FastifyReply, FastifyRequest } from "fastify";

/** A page or file that is built once and then only sent, because anybody may ask for it any number of times. */
export interface Prepared {
  plain: Buffer;
  packed: Buffer;
  etag: string;
  headers: Readonly<Record<string, string>>;
}

/** Compressed outside of the event loop. */
export async function prepare(content: string, headers: Readonly<Record<string, string>>): Promise<Prepared> {
  const { gzip } = await import("node:zlib");
  const plain = Buffer.from(content);
  const packed = await promisify(gzip)(plain);
  const hash = createHash("sha256").update(plain).digest("base64url").slice(0, 22);
  // A weak ETag, because the compressed and the plain version share it.
  return { plain, packed, etag: `W/"${hash}"`, headers };
}

/** Sends 304 without a body when the client already has this version. */
export function sendPrepared(request: FastifyRequest, reply: FastifyReply, prepared: Prepared): FastifyReply {
  const { plain, packed, etag, headers } = prepared;
  reply.headers({ "cache-control": "no-cache", vary: "accept-encoding", ...headers, etag });
  if (isKnown(request.headers["if-none-match"], etag)) return reply.code(304).send();
  const isPacked = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(String(request.headers["accept-encoding"]));
  return isPacked ? reply.header("content-encoding", "gzip").send(packed) : reply.send(plain);
}

export function isKnown(given: string | undefined, etag: string): boolean {
  if (given === undefined) return false;
  const bare = etag.replace(/^W\//, "");
  return given.split(",").some((one) => ["*", bare].includes(one.trim().replace(/^W\//, "")));
}

/** Lets other waiting work run first. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
