import type { Clock } from "../../domain/clock.ts";
import type { EventContent } from "../../domain/event.ts";
import type { Connections } from "../../brokers/connections.ts";
import type { Subscription } from "../../domain/subscription.ts";
import type { HttpClient } from "../wire/http-client.ts";

/** What the gateway has for those who send. */
export interface SenderServices {
  clock: Clock;
  /** The guarded one. Closed together with the sender of the kind http. */
  client: HttpClient;
  userAgent: string;
  /** Throws for a URL that may not be reached. */
  checkUrl: (url: string, field: string) => void;
  /** What speaks against a URL that may lead back to this gateway. */
  findOwnUrlProblem: (url: string) => string | undefined;
  openCredentials: OpenCredentials;
  /** To brokers. They outlive the senders. */
  connections: Connections;
  /** Encrypts credentials in messages, where a destination has no key of its own. */
  messageKey?: string | undefined;
  /** The id of this store, for messages to say where they come from. */
  origin: string;
  /** For the operator: something is not as its owner may think. */
  warn: (subscription: Subscription, message: string) => void;
}

/** The credentials among the headers of a kept request, by name; empty when none were kept. */
export type OpenCredentials = (event: EventContent, sealed: string) => Readonly<Record<string, string>>;
