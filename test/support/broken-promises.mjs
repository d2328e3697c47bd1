// Gateways that break a promise, to show that the test of that promise can fail. Plain JavaScript, because gateways that
// run as processes of their own load it too.
import { randomUUID } from "node:crypto";

/** What a gateway is started with to break them. */
export function breakPromises({ synchronous, checkLargeBodiesOnLoop, ...ofEvents }) {
  return {
    ...(synchronous !== undefined && { openStore: (open) => (url, options) => open(url, { ...options, synchronous }) }),
    ...(checkLargeBodiesOnLoop === true && {
      createBodyChecker: (create) => (options) => create({ ...options, maxOnLoopBytes: Number.POSITIVE_INFINITY }),
    }),
    ...(Object.keys(ofEvents).length > 0 && {
      createIngest: (create) => (options) => breakIngest(create(options), ofEvents),
    }),
  };
}

function breakIngest(ingest, { answerBeforeCommit, forgetDedupe, forgetHops, ignoreOrder }) {
  const spoil = (event) => ({
    ...event,
    ...(forgetDedupe === true && { dedupeKey: undefined, replayKey: undefined }),
    // An id of its own is a key, too.
    ...(forgetDedupe === true && event.givenId && { id: randomUUID() }),
    ...(forgetHops === true && { details: undefined }),
    ...(ignoreOrder === true && { orderingKey: event.id }),
  });
  return {
    ...ingest,
    accept(event, done, to) {
      if (answerBeforeCommit !== true) return ingest.accept(spoil(event), done, to);
      ingest.accept(spoil(event), () => undefined, to);
      done({ kind: "stored", eventId: event.id, deliveries: 1 });
    },
  };
}
