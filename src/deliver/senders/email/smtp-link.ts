import { Readable } from "node:stream";
import type SMTPConnection from "nodemailer/lib/smtp-connection";
import type { SMTPConnectionSendInfo } from "nodemailer/lib/smtp-connection";
import type { SmtpServer } from "../../../domain/smtp.ts";

/** One connection to the SMTP server. */
export interface SmtpLink {
  /** The messages that it has taken. */
  readonly sent: number;
  readonly isOpen: boolean;
  /** Rejects with what the server or the network said. */
  send(envelope: Envelope, message: Buffer): Promise<Answered>;
  /** Ends a message that failed, so that the next one can begin. Closes it when that fails. */
  reset(): Promise<void>;
  close(): void;
}

export interface Envelope {
  from: string;
  to: readonly string[];
}

export interface Answered {
  accepted: readonly string[];
  /** Those whom the server did not take, while it took the message for others. */
  rejected: readonly SmtpError[];
  /** What it said to the message. */
  response: string;
}

/** As nodemailer reports it. */
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
/** Each attempt has a deadline of its own; this is for a server that goes silent between two. */
const SILENCE_TIMEOUT_MS = 120_000;

/** `onEnd` is called once, when it was closed by either side. Rejects when it cannot be used. */
export async function openSmtpLink(
  { server, ca }: LinkOptions,
  abort: AbortSignal,
  onEnd: (link: SmtpLink) => void,
): Promise<SmtpLink> {
  const { default: Connection } = await import("nodemailer/lib/smtp-connection");
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
  // What goes wrong is told to whoever waits; without a listener the process would end.
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

/** Some of what ends a connection is told by an event only. */
function perform<Result>(connection: SMTPConnection, act: (done: Done<Result>) => void): Promise<Result> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      connection.off("error", fail);
      connection.off("end", end);
      reject(error);
    };
    // After a 421 the connection is closed first, and then it is said why.
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
