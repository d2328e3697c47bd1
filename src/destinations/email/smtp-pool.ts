import type { Clock } from "../../model/clock.ts";
import { createWaitingLine, type Waiting } from "../wire/waiting-line.ts";
import { Readable } from "node:stream";
import type SMTPConnection from "nodemailer/lib/smtp-connection";
import type { SMTPConnectionSendInfo } from "nodemailer/lib/smtp-connection";
import type { SmtpServer } from "../../model/mail.ts";

interface Mail {
  /** The tenant. */
  readonly owner: string;
  readonly envelope: Envelope;
  readonly message: Buffer;
}

export type SmtpResult = { answered: Answered } | { error: SmtpError };

interface SmtpPoolOptions extends LinkOptions {
  clock: Clock;
  maxConnections: number;
  messagesPerConnection: number;
}

/** RFC 5321 §4.5.3.2.7: servers wait for five minutes; idle connections are closed earlier here. */
const IDLE_MS = 60_000;

interface Job extends Mail, Waiting {
  readonly done: (result: SmtpResult) => void;
  readonly abort: AbortController;
}

export type SmtpPool = ReturnType<typeof openSmtpPool>;

/**
 * A few connections to the SMTP server, each for one message at a time; tenants take turns. Each message can be given
 * up alone, which closes its connection: nodemailer's own pool can only be closed as a whole.
 */
export function openSmtpPool(options: SmtpPoolOptions) {
  const { clock, maxConnections, messagesPerConnection } = options;
  const line = createWaitingLine<Job>();
  /** Idle connections, each with the timer that closes it. */
  const idle = new Map<SmtpLink, { cancel(): void }>();
  const underWay = new Set<Job>();

  function drop(link: SmtpLink): void {
    idle.get(link)?.cancel();
    idle.delete(link);
  }

  function takeIdle(): SmtpLink | undefined {
    for (const link of idle.keys()) {
      drop(link);
      if (link.isOpen) return link;
    }
    return undefined;
  }

  function keep(link: SmtpLink): void {
    if (!link.isOpen) return;
    if (link.sent >= messagesPerConnection) return link.close();
    idle.set(
      link,
      clock.setTimer(clock.now() + IDLE_MS, () => link.close()),
    );
  }

  async function deliver(job: Job): Promise<Answered> {
    const { signal } = job.abort;
    const known = takeIdle();
    try {
      if (known !== undefined) return await deliverBy(known, job);
    } catch (error) {
      // The server had closed the idle connection, and nothing was sent on it: the message can go on another one.
      const { isUnsent, responseCode } = error as SmtpError;
      const wasStale = isUnsent === true && (responseCode === undefined || responseCode === 421);
      if (!wasStale || signal.aborted) throw error;
    }
    return deliverBy(await openSmtpLink(options, signal, drop), job);
  }

  async function deliverBy(link: SmtpLink, { envelope, message, abort }: Job): Promise<Answered> {
    const close = () => link.close();
    // A listener is not told of what happened before.
    if (abort.signal.aborted) {
      close();
      throw abort.signal.reason;
    }
    abort.signal.addEventListener("abort", close, { once: true });
    try {
      return await link.send(envelope, message);
    } catch (error) {
      const { code } = error as SmtpError;
      if (code !== "EENVELOPE" && code !== "EMESSAGE") link.close();
      else if (link.isOpen) await link.reset();
      throw error;
    } finally {
      abort.signal.removeEventListener("abort", close);
      keep(link);
    }
  }

  async function run(job: Job): Promise<void> {
    underWay.add(job);
    const result = await deliver(job).then(
      (answered): SmtpResult => ({ answered }),
      (error: SmtpError): SmtpResult => ({ error }),
    );
    underWay.delete(job);
    if (!job.isFinished) job.done(result);
    goOn();
  }

  function goOn(): void {
    while (underWay.size < maxConnections) {
      const job = line.take();
      if (job === undefined) return;
      void run(job);
    }
  }

  return {
    /** Calls `done` once, unless the message was given up. */
    send(mail: Mail, done: (result: SmtpResult) => void): { giveUp(): void } {
      const abort = new AbortController();
      line.push({
        ...mail,
        done,
        abort,
        get isFinished() {
          return abort.signal.aborted;
        },
      });
      goOn();
      return { giveUp: () => abort.abort() };
    },
    /** Closes all connections; `done` is no longer called for messages that are under way. */
    close(): void {
      for (let job = line.take(); job !== undefined; job = line.take()) job.abort.abort();
      for (const { abort } of underWay) abort.abort();
      for (const link of idle.keys()) link.close();
    },
  };
}

/** One connection to the SMTP server. */
interface SmtpLink {
  /** The number of messages that the server has accepted on this connection. */
  sent: number;
  isOpen: boolean;
  /** Rejects with the error of the server or the network. */
  send(envelope: Envelope, message: Buffer): Promise<Answered>;
  /** Aborts a failed message, so that the next one can begin. Closes the connection when that fails. */
  reset(): Promise<void>;
  close(): void;
}

interface Envelope {
  from: string;
  to: readonly string[];
}

export interface Answered {
  accepted: readonly string[];
  /** The recipients that the server rejected while it accepted the message for others. */
  rejected: readonly SmtpError[];
  /** The server's answer to the message. */
  response: string;
}

/** An error as nodemailer reports it. */
export interface SmtpError extends Error {
  code?: string | undefined;
  responseCode?: number | undefined;
  response?: string | undefined;
  command?: string | undefined;
  recipient?: string | undefined;
  rejectedErrors?: readonly SmtpError[] | undefined;
  /** Nothing of the message was sent. */
  isUnsent?: boolean | undefined;
}

interface LinkOptions {
  server: SmtpServer;
  /** PEM; certificates to trust instead of the usual ones. */
  ca: string | undefined;
}

const CONNECT_TIMEOUT_MS = 30_000;
/** Each attempt has its own deadline; this one is for a server that goes silent between two attempts. */
const SILENCE_TIMEOUT_MS = 120_000;

/** Calls `onEnd` once, when either side has closed the connection. Rejects when the connection cannot be used. */
async function openSmtpLink({ server, ca }: LinkOptions, abort: AbortSignal, onEnd: (link: SmtpLink) => void) {
  const { default: Connection } = await import("nodemailer/lib/smtp-connection");
  abort.throwIfAborted();
  const { host, port, tls, login } = server;
  const connection: SMTPConnection = new Connection({
    host,
    port,
    secure: tls === "immediate",
    requireTLS: tls === "upgrade",
    ignoreTLS: tls === "none",
    tls: { minVersion: "TLSv1.2", ...(ca !== undefined && { ca }) },
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
  });
  // The waiting caller gets the error; but without a listener here, the process would end.
  connection.on("error", () => undefined);
  const close = () => connection.close();
  abort.addEventListener("abort", close, { once: true });
  connection.once("end", () => {
    link.isOpen = false;
    onEnd(link);
  });

  const link: SmtpLink = {
    sent: 0,
    isOpen: true,
    async send({ from, to }, message) {
      const stream = Readable.from([message], { objectMode: false });
      const size = message.length;
      const answer = await perform<SMTPConnectionSendInfo>(connection, (done) => {
        connection.send({ from, to: [...to], size }, stream, done);
      }).catch((error: SmtpError) => {
        error.isUnsent = !stream.readableDidRead;
        throw error;
      });
      link.sent++;
      return { accepted: answer.accepted, rejected: answer.rejectedErrors ?? [], response: answer.response };
    },
    async reset() {
      await perform<unknown>(connection, (done) => connection.reset(done)).catch(close);
    },
    close,
  };

  try {
    await perform<unknown>(connection, (done) => connection.connect((error) => done(error ?? null)));
    const credentials = login && { user: login.user, pass: login.password };
    if (credentials) await perform<unknown>(connection, (done) => connection.login({ credentials }, done));
    return link;
  } catch (error) {
    close();
    throw error;
  } finally {
    abort.removeEventListener("abort", close);
  }
}

type Done<Result> = (error: Error | null, result?: Result) => void;

/** Some errors that end a connection are reported only by an event. */
function perform<Result>(connection: SMTPConnection, act: (done: Done<Result>) => void): Promise<Result> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      connection.off("error", fail);
      connection.off("end", end);
      reject(error);
    };
    // After a 421, the connection is closed first and the reason is reported afterwards.
    const end = () =>
      setImmediate(fail, Object.assign(new Error("the connection was closed"), { code: "ECONNECTION" }));
    connection.once("error", fail);
    connection.once("end", end);
    act((error, result) => {
      if (error !== null) return fail(error);
      connection.off("error", fail);
      connection.off("end", end);
      resolve(result as Result);
    });
  });
}
