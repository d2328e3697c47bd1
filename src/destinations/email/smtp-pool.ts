import type { Clock } from "../../model/clock.ts";
import { createWaitingLine } from "../wire/waiting-line.ts";
import {
  openSmtpLink,
  type Answered,
  type Envelope,
  type LinkOptions,
  type SmtpError,
  type SmtpLink,
} from "./smtp-link.ts";

/**
 * A few connections to the SMTP server, each for one message at a time; tenants take turns. Each message can be given
 * up alone, which closes its connection: nodemailer's own pool can only be closed as a whole.
 */
export interface SmtpPool {
  /** Calls `done` once, unless the message was given up. */
  send(mail: Mail, done: (result: SmtpResult) => void): Sending;
  /** Closes all connections; `done` is no longer called for messages that are under way. */
  close(): void;
}

export interface Mail {
  /** The tenant. */
  owner: string;
  envelope: Envelope;
  message: Buffer;
}

export type SmtpResult = { answered: Answered } | { error: SmtpError };

export interface Sending {
  giveUp(): void;
}

export interface SmtpPoolOptions extends LinkOptions {
  clock: Clock;
  maxConnections: number;
  messagesPerConnection: number;
}

/** RFC 5321 §4.5.3.2.7: servers wait for five minutes; idle connections are closed earlier here. */
const IDLE_MS = 60_000;

interface Job {
  readonly owner: string;
  readonly mail: Mail;
  readonly done: (result: SmtpResult) => void;
  readonly abort: AbortController;
  isFinished: boolean;
}

export function openSmtpPool(options: SmtpPoolOptions): SmtpPool {
  const { clock, maxConnections, messagesPerConnection } = options;
  const line = createWaitingLine<Job>();
  /** Idle connections, each with the timer that closes it. */
  const idle = new Map<SmtpLink, { cancel(): void }>();
  const underWay = new Set<Job>();
  let busy = 0;

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

  async function deliver({ mail, abort }: Job): Promise<Answered> {
    const known = takeIdle();
    if (known === undefined) return deliverBy(await openSmtpLink(options, abort.signal, drop), mail, abort);
    try {
      return await deliverBy(known, mail, abort);
    } catch (error) {
      // The server had closed the idle connection, and nothing was sent on it: the message can go on another one.
      const { isUnsent, responseCode } = error as SmtpError;
      const wasStale = isUnsent === true && (responseCode === undefined || responseCode === 421);
      if (!wasStale || abort.signal.aborted) throw error;
      return deliverBy(await openSmtpLink(options, abort.signal, drop), mail, abort);
    }
  }

  async function deliverBy(link: SmtpLink, { envelope, message }: Mail, abort: AbortController): Promise<Answered> {
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
    busy++;
    underWay.add(job);
    const result = await deliver(job).then(
      (answered): SmtpResult => ({ answered }),
      (error: SmtpError): SmtpResult => ({ error }),
    );
    busy--;
    underWay.delete(job);
    if (!job.isFinished) {
      job.isFinished = true;
      job.done(result);
    }
    goOn();
  }

  function goOn(): void {
    while (busy < maxConnections) {
      const job = line.take();
      if (job === undefined) return;
      void run(job);
    }
  }

  function giveUp(job: Job): void {
    job.isFinished = true;
    job.abort.abort();
  }

  return {
    send(mail, done) {
      const job: Job = { owner: mail.owner, mail, done, abort: new AbortController(), isFinished: false };
      line.push(job);
      goOn();
      return { giveUp: () => giveUp(job) };
    },
    close() {
      for (let job = line.take(); job !== undefined; job = line.take()) giveUp(job);
      for (const job of underWay) giveUp(job);
      for (const link of idle.keys()) link.close();
    },
  };
}
