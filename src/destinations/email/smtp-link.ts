import { Readable } from "node:stream";
import type SMTPConnection from "nodemailer/lib/smtp-connection";
import type { SMTPConnectionSendInfo } from "nodemailer/lib/smtp-connection";
import type { SmtpServer } from "../../model/mail.ts";

/** One connection to the SMTP server. */
export interface SmtpLink {
  /** The number of messages that the server has accepted on this connection. */
  readonly sent: number;
  readonly isOpen: boolean;
  /** Rejects with the error of the server or the network. */
  send(envelope: Envelope, message: Buffer): Promise<Answered>;
  /** Aborts a failed message, so that the next one can begin. Closes the connection when that fails. */
  reset(): Promise<void>;
  close(): void;
}

export interface Envelope {
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

export interface LinkOptions {
  server: SmtpServer;
  /** PEM; certificates to trust instead of the usual ones. */
  ca: string | undefined;
}

const CONNECT_TIMEOUT_MS = 30_000;
/** Each attempt has its own deadline; this one is for a server that goes silent between two attempts. */
const SILENCE_TIMEOUT_MS = 120_000;

/** Calls `onEnd` once, when either side has closed the connection. Rejects when the connection cannot be used. */
export async function openSmtpLink(
  { server, ca }: LinkOptions,
  abort: AbortSignal,
  onEnd: (link: SmtpLink) => void,
): Promise<SmtpLink> {
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
  let isOpen = true;
  let sent = 0;
  // The waiting caller gets the error; but without a listener here, the process would end.
  connection.on("error", () => undefined);
  const close = () => connection.close();
  abort.addEventListener("abort", close, { once: true });
  connection.once("end", () => {
    isOpen = false;
    onEnd(link);
  });

  const link: SmtpLink = {
    get sent() {
      return sent;
    },
    get isOpen() {
      return isOpen;
    },
    async send({ from, to }, message) {
      const stream = Readable.from([message], { objectMode: false });
      const size = message.length;
      const answer = await perform<SMTPConnectionSendInfo>(connection, (done) => {
        connection.send({ from, to: [...to], size }, stream, done);
      }).catch((error: SmtpError) => {
        error.isUnsent = !stream.readableDidRead;
        throw error;
      });
      sent++;
      return { accepted: answer.accepted, rejected: answer.rejectedErrors ?? [], response: answer.response };
    },
    async reset() {
      await perform<unknown>(connection, (done) => connection.reset(done)).catch(close);
    },
    close,
  };

  try {
    await perform<unknown>(connection, (done) => connection.connect((error) => done(error ?? null)));
    if (login !== undefined) {
      const credentials = { user: login.user, pass: login.password };
      await perform<unknown>(connection, (done) => connection.login({ credentials }, done));
    }
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
