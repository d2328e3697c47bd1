import type { Socket } from "node:net";
import { LINGER_MS, toProblem } from "../intake/problem.ts";
import { PosthornError } from "../model/errors.ts";
import { openResponseOf } from "./connection-gate.ts";

/** The error of Node's parser for a request that it cannot read. */
export interface ParserFault extends NodeJS.ErrnoException {
  reason?: string;
}

const lingering = new WeakSet<Socket>();
const late: Socket[] = [];
const THROWN_OUT_AT_ONCE = 50;
const TIMED_OUT = formatRefusal(
  new PosthornError("request_timeout", "The request was not complete in time. Send it again, faster."),
);

/** Answers data that is not a valid HTTP request; it never reaches a handler. */
export function answerUnparsable(error: ParserFault, socket: Socket): void {
  // More data of the same sender; it is discarded until the sender has seen the answer.
  if (lingering.has(socket)) return;
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return throwOutLater(socket);
  if (isPastAnswering(socket)) return;
  // The connection ended in the middle of a request: there is nobody to answer.
  if (error.code === "ECONNRESET" || error.code === "HPE_INVALID_EOF_STATE") {
    socket.destroy();
    return;
  }
  socket.end(formatRefusal(explainUnparsable(error)));
  lingering.add(socket);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/** Closes a connection on which an error would come too late or be misunderstood. */
function isPastAnswering(socket: Socket): boolean {
  const response = openResponseOf(socket);
  // Data that is already written is still sent.
  if (response?.headersSent === true) socket.destroySoon();
  // The sender would take it for the answer to the previous request, which may be stored in a moment.
  else if (!socket.writable || response?.req.complete === true) socket.destroy();
  else return false;
  return true;
}

/** Thousands may time out together; closing all in one turn would block the event loop. */
function throwOutLater(socket: Socket): void {
  if (late.push(socket) === 1) setImmediate(throwOutSome);
}

function throwOutSome(): void {
  for (const socket of late.splice(0, THROWN_OUT_AT_ONCE)) {
    if (isPastAnswering(socket)) continue;
    socket.write(TIMED_OUT);
    socket.destroySoon();
  }
  if (late.length > 0) setImmediate(throwOutSome);
}

function formatRefusal(error: PosthornError): string {
  const { status, headers, body } = toProblem(error);
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return (
    `HTTP/1.1 ${status} Refused\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
    `${head.join("")}\r\n${body}`
  );
}

function explainUnparsable({ code, message, reason = "" }: ParserFault): PosthornError {
  if (code === "HPE_HEADER_OVERFLOW") {
    return new PosthornError("headers_too_large", "The headers are larger than 16 KB. Send fewer.");
  }
  if (code === "HPE_UNEXPECTED_CONTENT_LENGTH" || reason.includes("can't be present with")) {
    return new PosthornError(
      "ambiguous_length",
      "Content-Length and Transfer-Encoding, or two lengths, contradict each other. Send one of them.",
    );
  }
  return new PosthornError("bad_request", `This is not a valid HTTP request (${message}).`);
}
