import type { Clock } from "../../domain/clock.ts";
import type { EventContent } from "../../domain/event.ts";
import type { Connections } from "../../brokers/connections.ts";
import type { Subscription } from "../../domain/subscription.ts";
import type { Templates } from "../../templates/templates.ts";
import type { HttpClient } from "../wire/http-client.ts";
import type { SmsConfig, SmtpConfig } from "./message-config.ts";

/** What the gateway has for those who send. */
export interface SenderServices {
  clock: Clock;
  /** The guarded one. Closed together with the sender of the kind http. */
  client: HttpClient;
  userAgent: string;
  /** What this gateway is called by others: a DNS name, perhaps with a port. */
  publicHost: string;
  /** Throws for a URL that may not be reached. */
  checkUrl: (url: string, field: string) => void;
  /** What speaks against a URL that may lead back to this gateway. */
  findOwnUrlProblem: (url: string) => string | undefined;
  openCredentials: OpenCredentials;
  /** To brokers. They outlive the senders. */
  connections: Connections;
  /** Encrypts credentials in messages, where a destination has no key of its own. */
  messageKey?: string | undefined;
  /** How e-mail leaves the gateway; without it there is none. */
  smtp?: SmtpConfig | undefined;
  sms?: SmsConfig | undefined;
  templates: Templates;
  /** The id of this store, for messages to say where they come from. */
  origin: string;
  /** The folder that batches may be written to, by its absolute path; none when not given. */
  batchDir?: string | undefined;
  /** For the operator: something is not as its owner may think. */
  warn: (subscription: Subscription, message: string) => void;
}

/** The credentials among the headers of a kept request, by name; empty when none were kept. */
export type OpenCredentials = (event: EventContent, sealed: string) => Readonly<Record<string, string>>;
