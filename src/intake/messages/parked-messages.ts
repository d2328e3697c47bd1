import type { Connections } from "../../queues/connections.ts";
import { findSourcePlace } from "../../queues/parked/parked-place.ts";
import type { ParkedQueue } from "../../queues/parked/parked.ts";
import { PosthornError } from "../../model/errors.ts";
import type { Source } from "../../model/source.ts";

/** The messages in a source's poison queue, dead-letter queue or the queue behind its DLX. */
export interface ParkedMessages {
  /** Throws `conflict` for a source that does not read from a broker. */
  open(source: Pick<Source, "name" | "kind" | "settings">): ParkedQueue;
}

export function createParkedMessages(connections: Pick<Connections, "find">): ParkedMessages {
  return {
    open({ name, kind, settings }) {
      const place = findSourcePlace(kind, settings.options);
      if (place === undefined) {
        throw new PosthornError(
          "conflict",
          `The source ${name} is of the kind ${kind}. It does not read from a broker, so it has no parked messages.`,
        );
      }
      const connection = connections.find(place.kind, place.connection);
      if (connection === undefined) {
        throw new PosthornError(
          "conflict",
          `There is no connection "${place.connection}" of the kind ${place.kind}. Add it under connections in the configuration.`,
        );
      }
      return connection.openParked(place);
    },
  };
}
