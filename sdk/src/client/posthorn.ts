import { createResources, type Resources } from "../generated/resources.ts";
import type { Published, StreamQuery } from "../generated/shapes.ts";
import { createCall } from "./call.ts";
import type { PosthornOptions, RequestOptions } from "./options.ts";
import { createPublishing, type EventInput, type PublishResult } from "./publish.ts";
import { createPublisher, type Publisher, type PublisherOptions } from "./publisher.ts";
import { withRetries } from "./retry.ts";
import { openStream, type StreamFrame, type StreamOptions } from "./stream.ts";
import { createTransport } from "./transport.ts";

/** A client of one gateway. It holds no connection of its own and need not be closed. */
export interface Posthorn extends Omit<Resources, "events"> {
  events: Resources["events"] & PublishMethods;
  /** Collects events and publishes them in batches. */
  createPublisher(options?: PublisherOptions): Publisher;
  /** What happens, as it happens: `for await (const frame of posthorn.stream({ types: "attempt" })) …` */
  stream(query?: Omit<StreamQuery, "last_event_id">, options?: StreamOptions): AsyncIterable<StreamFrame>;
}

interface PublishMethods {
  /**
   * Publish an event. Resolves when it is on the gateway's disk. It gets an `event_id` here if it has none, so that a
   * retry after a lost answer does not publish it twice; `duplicate` is then true.
   */
  publish(event: EventInput, options?: RequestOptions): Promise<Published>;
  /** Publish any number of events, in requests of up to 1,000. Resolves to what became of each, in their order. */
  publishMany(events: Iterable<EventInput>, options?: RequestOptions): Promise<PublishResult[]>;
}

export function createPosthorn(options: PosthornOptions): Posthorn {
  const { key, headers } = options;
  const authorization = readKey(key) === undefined ? {} : { authorization: `Bearer ${key}` };
  const given = { ...options, base: readBase(options.url), headers: { ...authorization, ...headers } };
  const transport = withRetries(createTransport(given));
  const resources = createResources(createCall(transport));
  const publishing = createPublishing(transport);
  return {
    ...resources,
    events: { ...resources.events, publish: publishing.one, publishMany: publishing.many },
    createPublisher: (of) => createPublisher(publishing, of),
    stream: (query = {}, of) => openStream(transport, query, of),
  };
}

/** Without a slash at its end; it may have a path of its own. */
function readBase(url: string | URL): string {
  const { protocol, origin, pathname, username } = parseUrl(url);
  if (!/^https?:$/.test(protocol)) throw noAddress(url);
  if (username !== "") throw new TypeError("The address of a gateway has no user name. Give its key as `key`.");
  return origin + pathname.replace(/\/+$/, "");
}

function parseUrl(url: string | URL): URL {
  try {
    return new URL(url);
  } catch {
    throw noAddress(url);
  }
}

function noAddress(url: string | URL): TypeError {
  return new TypeError(`url is ${String(url)}. Give the address of the gateway, such as https://hooks.example.com.`);
}

/** What a header cannot hold would look like a gateway that does not answer. */
function readKey(key: string | undefined): string | undefined {
  if (key === undefined || /^[\x21-\x7e]+$/.test(key)) return key;
  const what = key === "" ? "is empty" : "has spaces, line ends or other characters that no key has";
  throw new TypeError(`key ${what}. Is the variable that holds it set, and nothing behind it?`);
}
