import type { Clock } from "../model/clock.ts";
import type { EventContent } from "../model/event.ts";
import type { Connections } from "../queues/connections.ts";
import type { Subscription } from "../model/subscription.ts";
import type { Templates } from "../sandbox/templates/templates.ts";
import type { HttpClient } from "./wire/http-client.ts";
import type { SmsConfig, SmtpConfig } from "./message-config.ts";

/** What the gateway provides to senders. */
export interface SenderServices {
  clock: Clock;
  /** The guarded client. It is closed together with the sender of the kind http. */
  client: HttpClient;
  userAgent: string;
  /** The public name of this gateway: a DNS name, possibly with a port. */
  publicHost: string;
  /** Throws for a URL that must not be reached. */
  checkUrl: (url: string, field: string) => void;
  /** Returns why a URL may not be used because it leads back to this gateway. */
  findOwnUrlProblem: (url: string) => string | undefined;
  openCredentials: OpenCredentials;
  /** The subscription that has this one as its fallback. */
  findForward: (fallback: Subscription) => Subscription | undefined;
  /** Connections to brokers. They outlive the senders. */
  connections: Connections;
  /** Encrypts credentials in messages when a destination has no key of its own. */
  messageKey?: string | undefined;
  /** The SMTP configuration; without it no e-mail is sent. */
  smtp?: SmtpConfig | undefined;
  sms?: SmsConfig | undefined;
  templates: Templates;
  /** The id of this store: messages name it as their origin. */
  origin: string;
  /** The absolute path of the folder for batches; when not given, no batches are written to files. */
  batchDir?: string | undefined;
  /** Tells the operator about a setting whose effect its owner may not expect. */
  warn: (subscription: Subscription, message: string) => void;
}

/** The credentials among the headers of a stored request, by name; empty when none were stored. */
export type OpenCredentials = (event: EventContent, sealed: string) => Readonly<Record<string, string>>;
