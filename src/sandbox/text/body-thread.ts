import { serveCalls } from "../threads/serve-calls.ts";
import { checkJsonBody, type BodyCall, type WellFormed } from "./body-check.ts";
import { loadXmlReader } from "./xml-text.ts";

let xml: ReturnType<typeof loadXmlReader> | undefined;

serveCalls(async ({ body, format, charset, maxDepth, pointers }: BodyCall): Promise<WellFormed> => {
  // A copy: the body may be in shared memory.
  const bytes = Buffer.from(body);
  if (format === "json") return checkJsonBody(bytes, charset, maxDepth, pointers);
  const { check } = await (xml ??= loadXmlReader());
  check(bytes, charset, maxDepth);
  return { kind: "xml", texts: [] };
});
