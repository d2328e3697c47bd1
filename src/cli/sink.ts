import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { decodeSecret, verifyPlain, verifyStandard } from "../model/signature.ts";
import { escapeControls } from "../telemetry/terminal-text.ts";
import { CommandFailure, EXIT_CONFIGURATION } from "./failure.ts";
import { openInterruption } from "./surroundings.ts";
import { formatBytes, note, print, shorten } from "./output.ts";
import { readCount } from "./read-value.ts";

export interface SinkFlags {
  port: string;
  status: string;
  delay: string;
  failFirst: string;
  secret?: string;
  signatureHeader: string;
  json?: boolean;
}

const FAILING_STATUS = 503;
const MAX_KEPT_BYTES = 1_048_576;
const MAX_SHOWN_CHARACTERS = 200;

export async function runSink(flags: SinkFlags): Promise<void> {
  const port = readCount(flags.port, "--port", { min: 0, max: 65_535 });
  const status = readCount(flags.status, "--status", { min: 200, max: 599 });
  const delayMs = readCount(flags.delay, "--delay", { min: 0, max: 3_600_000 });
  const failFirst = readCount(flags.failFirst, "--fail-first", { min: 0, max: 1_000_000_000 });
  if (flags.secret !== undefined) decodeSecret(flags.secret);
  let received = 0;

  const server = createServer((request, response) => {
    request.on("error", () => undefined);
    readAll(request, (body, size) => {
      received += 1;
      const answer = received <= failFirst ? FAILING_STATUS : status;
      const arrival = describeArrival(request, body, size, answer, flags);
      print(flags.json === true ? JSON.stringify(arrival) : formatArrival(arrival));
      setTimeout(() => answerWith(response, answer), delayMs);
    });
  });

  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const reason = error.code === "EADDRINUSE" ? "is in use" : `cannot be listened on (${error.code})`;
      reject(new CommandFailure(`127.0.0.1:${port} ${reason}. Choose another with --port.`, EXIT_CONFIGURATION));
    });
    server.listen(port, "127.0.0.1", resolve);
  });
  note(`the sink listens on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const { signal, close } = openInterruption();
  await once(signal, "abort");
  close();
  server.close();
  server.closeAllConnections();
}

type Arrival = ReturnType<typeof describeArrival>;

function describeArrival(
  { method = "", url = "", headers }: IncomingMessage,
  body: Buffer,
  size: number,
  answer: number,
  { secret, signatureHeader }: SinkFlags,
) {
  const attempt = headerOf(headers, "x-webhook-attempt");
  const text = body.toString("utf8");
  const isText = Buffer.from(text, "utf8").equals(body);
  return {
    received_at: new Date().toISOString(),
    method,
    path: url,
    event_type: headerOf(headers, "x-webhook-event"),
    event_id: headerOf(headers, "webhook-id"),
    delivery_id: headerOf(headers, "x-webhook-id"),
    attempt: attempt === null ? null : Number(attempt),
    content_type: headerOf(headers, "content-type"),
    size,
    ...(secret !== undefined && { signature: checkSignatures(headers, body, secret, signatureHeader) }),
    answer,
    ...(isText && { body: text }),
    ...(!isText && { body_base64: body.toString("base64") }),
  };
}

function checkSignatures(headers: IncomingHttpHeaders, body: Buffer, secret: string, header: string) {
  const standard = {
    id: headerOf(headers, "webhook-id") ?? undefined,
    timestamp: headerOf(headers, "webhook-timestamp") ?? undefined,
    signature: headerOf(headers, "webhook-signature") ?? undefined,
  };
  return {
    standard: verifyStandard(standard, body, [secret], Date.now()),
    plain: verifyPlain(body, headerOf(headers, header.toLowerCase()) ?? undefined, secret),
  };
}

function formatArrival(arrival: Arrival): string {
  const { event_type, event_id, attempt, signature, body, body_base64 } = arrival;
  const head = [
    arrival.received_at.slice(11, 23),
    event_type ?? `${arrival.method} ${arrival.path}`,
    event_id ?? "no id",
    ...(attempt === null ? [] : [`attempt ${attempt}`]),
    formatBytes(arrival.size),
    ...(signature === undefined ? [] : [describeSignatures(signature)]),
    `-> ${arrival.answer}`,
  ];
  const shown = body === undefined ? `base64 ${shorten(body_base64 ?? "", MAX_SHOWN_CHARACTERS)}` : body;
  return `${escapeControls(head.join("  "))}\n  ${escapeControls(shorten(shown, MAX_SHOWN_CHARACTERS))}`;
}

function describeSignatures({ standard, plain }: { standard: boolean; plain: boolean }): string {
  if (standard && plain) return "signature ok";
  if (!standard && !plain) return "SIGNATURE WRONG";
  return standard ? "signature ok, plain one WRONG" : "STANDARD SIGNATURE WRONG, plain one ok";
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  return (Array.isArray(value) ? value.join(", ") : value) ?? null;
}

/** Keeps only as much as it can show, but counts all bytes. */
function readAll(request: IncomingMessage, done: (body: Buffer, size: number) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  request.on("data", (chunk: Buffer) => {
    if (size < MAX_KEPT_BYTES) chunks.push(chunk);
    size += chunk.length;
  });
  request.on("end", () => done(Buffer.concat(chunks), size));
}

function answerWith(response: ServerResponse, status: number): void {
  if (response.destroyed) return;
  response.writeHead(status, { "content-type": "text/plain" });
  response.end(status >= 400 ? "rejected by the sink\n" : "");
}
