import { buildReference } from "../../src/api/openapi/document.ts";
import { readApiDocument } from "./api-document.ts";

const document = readApiDocument(buildReference([], "0"));

/** Why the `data` of an event of the gateway itself is not as the document describes it. */
export function checkOwnEvent(type: string, data: unknown): string | undefined {
  return document.check(`${bodyOf(type)}/properties/data`, data);
}

/** The same of a whole body, as a destination receives it by default. */
export function checkOwnEnvelope(body: unknown): string | undefined {
  const { event } = body as { event: string };
  return document.check(bodyOf(event), body);
}

function bodyOf(type: string): string {
  return `/webhooks/${type}/post/requestBody/content/application~1json/schema`;
}
