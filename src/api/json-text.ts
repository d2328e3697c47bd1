import type { FastifyInstance, FastifyRequest } from "fastify";
import { PosthornError } from "../model/errors.ts";
import { findMember, skipSpace } from "../model/json.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The unparsed text of the body, on routes with `keepJsonText`. */
    jsonText: Buffer | undefined;
  }
}

const OPEN_BRACE = 0x7b;

/** Keeps the text of JSON bodies as well as their values, for routes that pass on a part of it byte for byte. */
export function keepJsonText(scope: FastifyInstance): void {
  scope.decorateRequest("jsonText", undefined);
  scope.removeContentTypeParser("application/json");
  scope.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body: Buffer, done) => {
    request.jsonText = body;
    try {
      done(null, JSON.parse(body.toString("utf8")));
    } catch (error) {
      done(new PosthornError("unreadable_body", (error as Error).message), undefined);
    }
  });
}

/** The text of a member of the body; undefined when there is none of this name. */
export function findJsonMember({ jsonText }: FastifyRequest, name: string): Buffer | undefined {
  if (jsonText === undefined) return undefined;
  const start = skipSpace(jsonText, 0);
  if (jsonText[start] !== OPEN_BRACE) return undefined;
  const span = findMember(jsonText, start, jsonText.length, name);
  return span && jsonText.subarray(span.start, span.end);
}
