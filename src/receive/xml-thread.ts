import { parentPort } from "node:worker_threads";
import { PosthornError } from "../domain/errors.ts";
import type { XmlCall, XmlReply } from "./xml-check.ts";
import { loadXmlReader } from "./xml-text.ts";

const port = parentPort;
if (port === null) throw new Error("xml-thread.ts is started as a thread");

const loading = loadXmlReader();

port.on("message", ({ id, body, charset, maxDepth }: XmlCall) => {
  loading
    .then((reader) => reader.check(Buffer.from(body.buffer, body.byteOffset, body.length), charset, maxDepth))
    .then(
      () => port.postMessage({ id } satisfies XmlReply),
      (error: unknown) => port.postMessage({ id, refused: describe(error) } satisfies XmlReply),
    );
});

function describe(error: unknown): NonNullable<XmlReply["refused"]> {
  if (!(error instanceof PosthornError)) return { code: "internal_error", message: String(error), details: undefined };
  const { code, message, details } = error;
  return { code, message, details };
}
