import { concat } from "../bytes.ts";
import { WebhookVerificationError } from "../verification-error.ts";

/** A request of Node, as far as it is needed here. */
export interface NodeRequest extends AsyncIterable<Uint8Array> {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  body?: unknown;
}

/** The raw bytes: those that a parser of raw bodies has left, or else those of the stream. */
export async function readRawBody(request: NodeRequest, maxBytes: number): Promise<Uint8Array> {
  const { body } = request;
  if (body instanceof Uint8Array) return body;
  if (body !== undefined) {
    throw new WebhookVerificationError(
      "body_not_raw",
      "The body was parsed before it could be verified. Put this before express.json(), or use express.raw().",
    );
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > maxBytes) throw new BodyTooLargeError(maxBytes);
    chunks.push(chunk);
  }
  return concat(...chunks);
}

class BodyTooLargeError extends Error {
  override readonly name = "BodyTooLargeError";
  readonly status = 413;

  constructor(maxBytes: number) {
    super(`The body has more than ${maxBytes} bytes.`);
  }
}
