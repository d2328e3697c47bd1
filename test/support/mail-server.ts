import type { AddressInfo, Socket } from "node:net";
import { SMTPServer, type SMTPServerSession } from "smtp-server";
import { SERVER_PAIR } from "./certificates.ts";

/** A real SMTP server on loopback: keeps what it takes, and behaves as it is told. */
export interface MailServer {
  readonly port: number;
  readonly url: string;
  readonly mails: readonly ReceivedMail[];
  /** Connections so far. */
  readonly accepted: number;
  behave(how: MailBehaviour): void;
  /** Resolves when so many mails have come. */
  received(count: number): Promise<readonly ReceivedMail[]>;
  /** Closes connections in the middle of whatever they are doing. */
  dropConnections(): void;
  /** Drops what came so far, and takes mails again. */
  forget(): void;
  close(): Promise<void>;
}

export interface ReceivedMail {
  from: string;
  to: readonly string[];
  /** As it came over the wire. */
  raw: string;
  /** By lower-case names, unfolded. */
  headers: ReadonlyMap<string, string>;
  user: string | undefined;
  isSecure: boolean;
}

/** What it answers instead of taking a mail; a code is what SMTP says. */
export interface MailBehaviour {
  greeting?: number | "hang" | undefined;
  sender?: number | undefined;
  /** By address. */
  recipients?: Readonly<Record<string, number>> | undefined;
  message?: number | "hang" | "drop" | undefined;
}

export interface MailServerOptions {
  tls?: "immediate" | "upgrade" | "none";
  login?: { user: string; password: string };
  maxBytes?: number;
  /** Answers to commands are sent one by one. */
  isPlain?: boolean;
}

export async function openMailServer(options: MailServerOptions = {}): Promise<MailServer> {
  const { tls = "none", login } = options;
  const mails: ReceivedMail[] = [];
  const waiting: { count: number; resolve: (mails: readonly ReceivedMail[]) => void }[] = [];
  let how: MailBehaviour = {};
  let accepted = 0;

  const server = new SMTPServer({
    secure: tls === "immediate",
    ...(tls === "none" ? {} : SERVER_PAIR),
    disabledCommands: [...(tls === "upgrade" ? [] : ["STARTTLS"]), ...(login === undefined ? ["AUTH"] : [])],
    allowInsecureAuth: true,
    authOptional: login === undefined,
    disableReverseLookup: true,
    hidePIPELINING: options.isPlain === true,
    ...(options.maxBytes !== undefined && { size: options.maxBytes }),
    closeTimeout: 1,
    onConnect(_, done) {
      accepted++;
      if (how.greeting === "hang") return;
      done(how.greeting === undefined ? null : refusal(how.greeting));
    },
    onAuth({ username, password }, _, done) {
      const fits = username === login?.user && password === login?.password;
      done(fits ? null : refusal(535), fits ? { user: username } : undefined);
    },
    onMailFrom: (_, __, done) => done(how.sender === undefined ? null : refusal(how.sender)),
    onRcptTo({ address }, _, done) {
      const code = how.recipients?.[address];
      done(code === undefined ? null : refusal(code));
    },
    onData(stream, session, done) {
      if (how.message === "drop") return dropConnections();
      const parts: Buffer[] = [];
      stream.on("data", (part: Buffer) => parts.push(part));
      stream.once("end", () => {
        if (how.message === "hang") return;
        if (typeof how.message === "number") return done(refusal(how.message));
        if (stream.sizeExceeded) return done(refusal(552));
        mails.push(toMail(session, Buffer.concat(parts).toString("utf8")));
        done();
        for (const one of waiting.filter(({ count }) => mails.length >= count)) one.resolve(mails);
      });
    },
  });
  // What is wrong with a connection concerns the client that is being tested.
  server.on("error", () => undefined);

  function dropConnections(): void {
    for (const { _socket: socket } of server.connections as unknown as Set<{ _socket: Socket }>) socket.destroy();
  }

  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.server.address() as AddressInfo;
  const user = login === undefined ? "" : `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@`;
  return {
    port,
    url: `${tls === "immediate" ? "smtps" : "smtp"}://${user}127.0.0.1:${port}`,
    mails,
    get accepted() {
      return accepted;
    },
    behave: (next) => void (how = next),
    received: (count) =>
      mails.length >= count
        ? Promise.resolve(mails)
        : new Promise((resolve) => {
            waiting.push({ count, resolve });
          }),
    dropConnections,
    forget() {
      mails.length = 0;
      how = {};
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        dropConnections();
      }),
  };
}

function refusal(responseCode: number): Error {
  return Object.assign(new Error("as it was told"), { responseCode });
}

function toMail({ envelope, user, secure }: SMTPServerSession, raw: string): ReceivedMail {
  const [head = ""] = raw.split("\r\n\r\n", 1);
  const lines = head.replaceAll(/\r\n[ \t]+/g, " ").split("\r\n");
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
  );
  const from = envelope.mailFrom === false ? "" : envelope.mailFrom.address;
  return { from, to: envelope.rcptTo.map(({ address }) => address), raw, headers, user, isSecure: secure };
}
