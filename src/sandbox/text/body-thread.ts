import { constants, setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import { PosthornError } from "../../model/errors.ts";
import { announceReady } from "../threads/thread-seat.ts";
import type { BodyCall, BodyReply, Refusal } from "./body-check.ts";
import { checkJsonBody, type WellFormed } from "./well-formed.ts";
import { loadXmlReader, type XmlReader } from "./xml-text.ts";

const port = parentPort;
if (port === null) throw new Error("body-thread.ts is started as a thread");

// Only Linux has thread priorities. Hostile bodies must not slow down other senders.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

let xml: Promise<XmlReader> | undefined;

async function check({ body, format, charset, maxDepth, pointers }: BodyCall): Promise<WellFormed> {
  // A copy: the body may be in shared memory.
  const bytes = Buffer.from(body);
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
  check(call).then(
    (checked) => port.postMessage({ checked } satisfies BodyReply),
    (error: unknown) => port.postMessage({ refused: describe(error) } satisfies BodyReply),
  );
});

announceReady(port);
