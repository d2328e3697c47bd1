import { createResources, type Resources } from "../generated/resources.ts";
import type { Published, StreamQuery } from "../generated/shapes.ts";
import { createCall } from "./call.ts";
import type { PosthornOptions, RequestOptions } from "./options.ts";
import { createPublishing, type EventInput, type PublishResult } from "./publish.ts";
import { createPublisher, type Publisher, type PublisherOptions } from "./publisher.ts";
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
  const transport = createTransport(options);
  const resources = createResources(createCall(transport));
  const publishing = createPublishing(transport);
  return {
    ...resources,
    events: { ...resources.events, publish: publishing.one, publishMany: publishing.many },
    createPublisher: (of) => createPublisher(publishing, of),
    stream: (query = {}, of) => openStream(transport, query, of),
  };
}
