import type { Socket } from "node:net";
import type { Clock } from "../../model/clock.ts";
import { type HeaderBlock, withoutCredentials } from "../../model/headers.ts";
import { parseUrl } from "../../model/addresses.ts";
import { type AnswerHead, AnswerReader, type AnswerTaker } from "./answer-reader.ts";
import type { ConnectionTerms } from "./connection-terms.ts";
import type { Connected, Connecting } from "./guarded-connect.ts";
import type { HttpRequest, HttpResult, Target } from "./http.ts";
import {
  ANSWER_BROKEN,
  ANSWER_CUT,
  ANSWER_TOO_LONG,
  codedError,
  describe,
  isLostConnection,
  kindOf,
} from "./network-fault.ts";

/** What all exchanges of a client share. */
export interface ExchangeParts {
  readonly clock: Clock;
  readonly deadlines: { add(one: Exchange, at: number): void; remove(one: Exchange): void };
  /** Keep-alive connections by origin and terms. Requests wait for one, and may give up waiting. */
  readonly connections: {
    /** Calls `waiter.start` with a connection, at once or when one is free. Nobody else uses it until it is released. */
    acquire(target: Target, waiter: Exchange): void;
    /** The same, but never with a connection that was idle. */
    acquireFresh(target: Target, waiter: Exchange): void;
    /**
     * The request on the connection has ended cleanly: the next request may use it, until it has been idle for too long.
     * The destination may have said how long that is.
     */
    release(connection: Wire, keepAliveMs: number | undefined): void;
    /** Closes the connection, whatever happens on it. */
    discard(connection: Wire): void;
  };
  /** Returns a text when the URL cannot be used. */
  findTarget(href: string, terms: ConnectionTerms | undefined): Target | string;
}

const MAX_REDIRECTS = 3;
const MAX_READ_BYTES = 64 * 1024;
const MAX_KEPT_BYTES = 8 * 1024;
/** Maximum number of 1xx answers before the final one. */
const MAX_INFORMATIONAL = 100;
const EMPTY = new Uint8Array(0);
/** 303 asks for a GET, which would drop the event. */
const FOLLOWED: ReadonlySet<number> = new Set([301, 302, 307, 308]);

/** One request under way, over all its redirects. */
export class Exchange implements Requester {
  isFinished = false;
  sweep: unknown[] | undefined;
  placeInSweep = 0;
  readonly owner: string;
  readonly #client: ExchangeParts;
  readonly #done: (result: HttpResult) => void;
  readonly #method: string;
  readonly #timeoutMs: number;
  #headers: HeaderBlock;
  #originHeaders: HeaderBlock;
  #body: Uint8Array;
  #target: Target;
  #path: string;
  #hopsLeft: number;
  readonly #maxKeptBytes: number;
  readonly #findHopProblem: HttpRequest["findHopProblem"];
  #connection: Wire | undefined;
  #isSecondTry = false;
  #answer: AnswerHead | undefined;
  #kept: Uint8Array = EMPTY;
  #readBytes = 0;
  #informational = 0;

  constructor(
    client: ExchangeParts,
    request: HttpRequest,
    target: Target,
    headers: HeaderBlock,
    done: (result: HttpResult) => void,
  ) {
    this.#client = client;
    this.owner = request.owner ?? "";
    this.#done = done;
    this.#method = request.method;
    this.#timeoutMs = request.timeoutMs;
    this.#headers = headers;
    this.#originHeaders = request.originHeaders ?? "";
    this.#body = request.body;
    this.#target = target;
    this.#path = request.path ?? target.path;
    this.#hopsLeft = request.maxRedirects ?? MAX_REDIRECTS;
    this.#maxKeptBytes = Math.min(request.keptBytes ?? MAX_KEPT_BYTES, MAX_READ_BYTES);
    this.#findHopProblem = request.findHopProblem;
  }

  send(): void {
    const { deadlines, clock, connections } = this.#client;
    deadlines.add(this, clock.now() + this.#timeoutMs);
    connections.acquire(this.#target, this);
  }

  start(connection: Wire): void {
    this.#connection = connection;
    this.#answer = undefined;
    this.#readBytes = 0;
    this.#kept = EMPTY;
    const { hostLine } = this.#target;
    // No Accept-Encoding, and nothing is decompressed: 158 bytes of brotli can contain 100 MB.
    const head =
      `${this.#method} ${this.#path} HTTP/1.1\r\n${hostLine}${this.#headers}${this.#originHeaders}` +
      `accept-encoding: identity\r\ncontent-length: ${this.#body.length}\r\n\r\n`;
    connection.request(head, this.#body, this);
  }

  expire(): void {
    const status = this.#answer?.status;
    const what = status === undefined ? "no answer" : `answered ${status}, but the answer is incomplete`;
    this.#fail("timed_out", `${what} within ${this.#timeoutMs} ms`);
  }

  stop(): void {
    this.#fail("error", "the gateway stopped");
  }

  takeHead(head: AnswerHead): void {
    if (head.status >= 200) {
      this.#answer = head;
      return;
    }
    this.#informational += 1;
    if (this.#informational > MAX_INFORMATIONAL) this.#fail("unreachable", "too many answers with a 1xx status");
  }

  takeBody(bytes: Uint8Array): void {
    const room = this.#maxKeptBytes - this.#readBytes;
    if (room > 0) this.#keep(bytes.subarray(0, room));
    this.#readBytes += bytes.length;
    if (this.#readBytes > MAX_READ_BYTES) this.#complete(false);
  }

  takeEnd(isClean: boolean): void {
    this.#complete(isClean);
  }

  lost(error: Error): void {
    const connection = this.#connection;
    if (this.isFinished || connection === undefined) return;
    // A destination may close an idle connection just when it is used again. Nothing was answered, and receivers
    // recognise a repeated request by its webhook-id: it is sent once more, on a connection that was not idle.
    const wasIdle = connection.served > 0 && this.#answer === undefined;
    if (wasIdle && !this.#isSecondTry && isLostConnection(error)) {
      this.#isSecondTry = true;
      this.#connection = undefined;
      this.#client.connections.discard(connection);
      this.#client.connections.acquireFresh(this.#target, this);
      return;
    }
    this.#fail(kindOf(error), describe(error));
  }

  /** Copies the chunk, because it is a small part of a large buffer and may be kept for a long time. */
  #keep(chunk: Uint8Array): void {
    if (this.#readBytes === 0) {
      this.#kept = new Uint8Array(chunk);
      return;
    }
    // A body may arrive byte by byte: it must not be copied again for each byte.
    if (this.#kept.length < this.#maxKeptBytes) {
      const room = new Uint8Array(this.#maxKeptBytes);
      room.set(this.#kept);
      this.#kept = room;
    }
    this.#kept.set(chunk, this.#readBytes);
  }

  get #keptBody(): Uint8Array {
    return this.#kept.length > this.#readBytes ? this.#kept.slice(0, this.#readBytes) : this.#kept;
  }

  #complete(isClean: boolean): void {
    const connection = this.#connection;
    const answer = this.#answer;
    if (this.isFinished || connection === undefined || answer === undefined) return;
    const location = FOLLOWED.has(answer.status) ? answer.headers["location"] : undefined;
    if (location === undefined) this.#respond(connection, answer, isClean);
    else this.#redirect(connection, answer, location, isClean);
  }

  #redirect(connection: Wire, answer: AnswerHead, location: string, isClean: boolean): void {
    const from = this.#target;
    const here = this.#href;
    const next = parseUrl(location, here);
    let objection: string | undefined;
    if (next === undefined) objection = "its Location is not a URL";
    else if (this.#readBytes > MAX_READ_BYTES) objection = "its body is too long";
    else if (this.#hopsLeft === 0) objection = "there were too many redirects";
    else if (from.protocol === "https:" && next.protocol === "http:") objection = "it leads from https to http";
    if (next === undefined || objection !== undefined) {
      this.#respond(connection, answer, isClean, `redirect not followed: ${objection}`);
      return;
    }
    next.hash = "";
    const isSameOrigin = next.origin === from.origin;
    const problem = this.#findHopProblem?.(next.href);
    const target = problem ?? this.#client.findTarget(next.href, isSameOrigin ? from.terms : from.terms?.elsewhere);
    if (typeof target === "string") {
      this.#fail("blocked", `redirect to ${next.origin}: ${target}`);
      return;
    }
    if (!isSameOrigin) {
      this.#headers = withoutCredentials(this.#headers);
      this.#originHeaders = "";
    }
    this.#hopsLeft -= 1;
    this.#target = target;
    this.#path = target.path;
    this.#isSecondTry = false;
    this.#free(connection, isClean);
    this.#connection = undefined;
    this.#client.connections.acquire(target, this);
  }

  #respond(connection: Wire, answer: AnswerHead, isClean: boolean, error?: string): void {
    const result: HttpResult = {
      kind: "response",
      status: answer.status,
      headers: answer.headers,
      body: this.#keptBody,
      address: connection.address ?? "",
      url: this.#href,
    };
    if (error !== undefined) result.error = error;
    this.#finish(result, isClean);
  }

  get #href(): string {
    const { href, origin, path } = this.#target;
    return this.#path === path ? href : origin + this.#path;
  }

  #fail(kind: Exclude<HttpResult["kind"], "response">, error: string): void {
    const answer = this.#answer;
    // The part of the answer that has arrived.
    const response = answer && { status: answer.status, headers: answer.headers, body: this.#keptBody };
    this.#finish({ kind, error, address: this.#connection?.address, response }, false);
  }

  #finish(result: HttpResult, isClean: boolean): void {
    if (this.isFinished) return;
    this.isFinished = true;
    const connection = this.#connection;
    this.#connection = undefined;
    this.#body = EMPTY;
    this.#client.deadlines.remove(this);
    if (connection !== undefined) this.#free(connection, isClean);
    this.#done(result);
  }

  #free(connection: Wire, isClean: boolean): void {
    if (isClean) this.#client.connections.release(connection, this.#answer?.keepAliveMs);
    else this.#client.connections.discard(connection);
  }
}

/** The maker of a request: gets the answer, or the reason why there is none. */
interface Requester extends AnswerTaker {
  lost(error: Error): void;
}

/** Begins to connect. `onRead` gets received bytes in a buffer that is reused. */
type Connect = (
  onRead: (bytes: Buffer) => void,
  done: (error: Error | null, made: Connected | null) => void,
) => Connecting;

const MAX_COPIED_BYTES = 4096;
const MAX_HEADER_BYTES = 16 * 1024;
/** For headers, body and framing together, and for bytes that never become part of an answer. */
const MAX_RECEIVED_BYTES = 128 * 1024;

/**
 * One socket that speaks HTTP/1.1, one request at a time. It connects for its first request, and cannot be used again
 * after its socket has ended. For a webhook, undici needs 1.6 times the CPU time.
 */
export class Wire {
  readonly #connect: Connect;
  readonly #onUnusedEnd: () => void;
  readonly #reader = new AnswerReader(MAX_HEADER_BYTES);
  #connecting: Connecting | undefined;
  #socket: Socket | undefined;
  #requester: Requester | undefined;
  #readBytes = 0;
  #isOver = false;
  /** The address of the destination, once connected. */
  address: string | undefined;
  /** How many requests the connection has served. */
  served = 0;

  /** `onUnusedEnd`: the connection ended while no request used it. */
  constructor(connect: Connect, onUnusedEnd: () => void) {
    this.#connect = connect;
    this.#onUnusedEnd = onUnusedEnd;
  }

  /** Whether another request may follow the last answer. */
  get isReusable(): boolean {
    const socket = this.#socket;
    // A destination that answers before it has read the whole request would take the rest for the next request.
    return !this.#isOver && socket !== undefined && !socket.destroyed && socket.writableLength === 0;
  }

  /** `requester` gets the end once, and never before this returns. */
  request(head: string, body: Uint8Array, requester: Requester): void {
    this.#requester = requester;
    this.#readBytes = 0;
    if (this.#socket !== undefined) return this.#write(this.#socket, head, body, requester);
    this.#connecting = this.#connect(
      (bytes) => this.#read(bytes),
      (error, made) => {
        this.#connecting = undefined;
        if (made === null) return this.#lose(error ?? new Error("not connected"));
        this.#socket = made.socket;
        this.address = made.address;
        this.#watch(made.socket);
        if (this.#isOver) made.socket.destroy();
        else this.#write(made.socket, head, body, requester);
      },
    );
  }

  /** Closes the socket, whatever happens on it; its requester gets no more calls. */
  destroy(): void {
    this.#isOver = true;
    this.#requester = undefined;
    this.#reader.stop();
    this.#connecting?.destroy();
    this.#socket?.destroy();
  }

  #write(socket: Socket, head: string, body: Uint8Array, requester: Requester): void {
    this.#reader.expect(requester);
    const length = head.length + body.length;
    if (length <= MAX_COPIED_BYTES) {
      // As one piece: copying costs less than writing two buffers.
      const bytes = Buffer.allocUnsafe(length);
      bytes.write(head, "latin1");
      bytes.set(body, head.length);
      socket.write(bytes);
      return;
    }
    socket.cork();
    socket.write(head, "latin1");
    socket.write(body);
    socket.uncork();
  }

  #watch(socket: Socket): void {
    socket.on("error", (error) => this.#lose(error));
    socket.on("end", () => {
      if (!this.#reader.end()) this.#lose(cut());
    });
    socket.once("close", () => this.#lose(cut()));
  }

  #read(bytes: Buffer): void {
    const requester = this.#requester;
    // Nobody asked for these bytes: the next request must not take them for its answer.
    if (requester === undefined) return this.#lose(cut());
    this.#readBytes += bytes.length;
    const reading = this.#reader.read(bytes);
    if (this.#requester !== requester) return;
    if (reading !== "going on") return this.#lose(codedError(ANSWER_BROKEN, reading.problem));
    // The same requester may have begun its next request meanwhile: then counting started again.
    if (this.#readBytes > MAX_RECEIVED_BYTES) {
      this.#lose(codedError(ANSWER_TOO_LONG, "the destination sent far more than an answer needs"));
    }
  }

  /** The request has its answer. */
  finish(): void {
    this.#requester = undefined;
    this.served += 1;
  }

  #lose(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reader.stop();
    this.#socket?.destroy();
    const requester = this.#requester;
    this.#requester = undefined;
    if (requester === undefined) this.#onUnusedEnd();
    else requester.lost(error);
  }
}

function cut(): Error {
  return codedError(ANSWER_CUT, "connection closed before the answer was complete");
}
