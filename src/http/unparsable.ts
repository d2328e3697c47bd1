import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { PosthornError } from "../domain/errors.ts";
import { LINGER_MS, toProblem } from "./problem.ts";

/** What Node's parser says of a request that it cannot read. */
export interface ParserFault extends NodeJS.ErrnoException {
  reason?: string;
}

const lingering = new WeakSet<Socket>();

/** What was no HTTP request never reaches a handler. */
export function answerUnparsable(error: ParserFault, socket: Socket): void {
  // More of the same; it is thrown away until the sender has seen its answer.
  if (lingering.has(socket)) return;
  const response = openResponseOf(socket);
  // What is written already still goes out.
  if (response?.headersSent === true) return socket.destroySoon();
  // A refusal now would be taken for the answer to the request before, which may be on disk in a moment.
  if (error.code === "ECONNRESET" || !socket.writable || response?.req.complete === true) {
    socket.destroy();
    return;
  }
  const problem = toProblem(explainUnparsable(error));
  const head = Object.entries(problem.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    `HTTP/1.1 ${problem.status} Refused\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(problem.body)}\r\n` +
      `${head.join("")}\r\n${problem.body}`,
  );
  lingering.add(socket);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/** The answer that this connection is waiting for; Node tells it to nobody, and takes the same look itself. */
function openResponseOf(socket: Socket): ServerResponse | undefined {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
}

function explainUnparsable({ code, message, reason = "" }: ParserFault): PosthornError {
  if (code === "HPE_HEADER_OVERFLOW") {
    return new PosthornError("headers_too_large", "The headers are larger than 16 KB. Send fewer.");
  }
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return new PosthornError("request_timeout", "The request was not complete in time. Send it again, faster.");
  }
  if (code === "HPE_UNEXPECTED_CONTENT_LENGTH" || reason.includes("can't be present with")) {
    return new PosthornError(
      "ambiguous_length",
      "Content-Length and Transfer-Encoding, or two lengths, contradict each other. Send one of them.",
    );
  }
  return new PosthornError("bad_request", `This is not a valid HTTP request (${message}).`);
}
