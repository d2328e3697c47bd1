import { constants, setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import { PosthornError } from "../../domain/errors.ts";
import type { BodyCall, BodyReply, Refusal } from "./body-check.ts";
import { checkJsonBody, type WellFormed } from "./well-formed.ts";
import { loadXmlReader, type XmlReader } from "./xml-text.ts";

const port = parentPort;
if (port === null) throw new Error("body-thread.ts is started as a thread");

// Only Linux has thread priorities. Hostile bodies must not slow down other senders.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

let xml: Promise<XmlReader> | undefined;

async function check({ body, format, charset, maxDepth, pointers }: BodyCall): Promise<WellFormed> {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  if (format === "json") return checkJsonBody(bytes, charset, maxDepth, pointers);
  xml ??= loadXmlReader();
  (await xml).check(bytes, charset, maxDepth);
  return { kind: "xml", texts: [] };
}

function describe(error: unknown): Refusal {
  if (!(error instanceof PosthornError)) return { code: "internal_error", message: String(error), details: undefined };
  const { code, message, details } = error;
  return { code, message, details };
}

port.on("message", (call: BodyCall) => {
  const { id } = call;
  check(call).then(
    (checked) => port.postMessage({ id, checked } satisfies BodyReply),
    (error: unknown) => port.postMessage({ id, refused: describe(error) } satisfies BodyReply),
  );
});
