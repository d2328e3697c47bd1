import type { Socket } from "node:net";
import { ANSWER_BROKEN, ANSWER_CUT, ANSWER_TOO_LONG, codedError } from "../network-fault.ts";
import type { Connected, Connecting } from "../guarded-connect.ts";
import { AnswerReader, type AnswerTaker } from "./answer-reader.ts";

/** The maker of a request: gets the answer, or the reason why there is none. */
export interface Requester extends AnswerTaker {
  lost(error: Error): void;
}

export interface WireOptions {
  /** Begins to connect. `onRead` gets received bytes in a buffer that is reused. */
  connect: (onRead: (bytes: Buffer) => void, done: (error: Error | null, made: Connected | null) => void) => Connecting;
  maxHeadBytes: number;
  /** Maximum number of bytes received for one request, including bytes that never become part of an answer. */
  maxReadBytes: number;
  /** The connection ended while no request used it. */
  onUnusedEnd: () => void;
}

const MAX_COPIED_BYTES = 4096;

/**
 * One socket that speaks HTTP/1.1, one request at a time. It connects for its first request, and cannot be used again
 * after its socket has ended. For a webhook, undici needs 1.6 times the CPU time.
 */
export class Wire {
  readonly #options: WireOptions;
  readonly #reader: AnswerReader;
  #connecting: Connecting | undefined;
  #socket: Socket | undefined;
  #requester: Requester | undefined;
  #readBytes = 0;
  #isOver = false;
  /** The address of the destination, once connected. */
  address: string | undefined;
  /** How many requests the connection has served. */
  served = 0;

  constructor(options: WireOptions) {
    this.#options = options;
    this.#reader = new AnswerReader(options.maxHeadBytes);
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
    this.#connecting = this.#options.connect(
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
    if (this.#readBytes > this.#options.maxReadBytes) {
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
    if (requester === undefined) this.#options.onUnusedEnd();
    else requester.lost(error);
  }
}

function cut(): Error {
  return codedError(ANSWER_CUT, "connection closed before the answer was complete");
}
