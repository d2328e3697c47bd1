// Gateways that break a promise, to show that the test of that promise can fail. Plain JavaScript, because gateways that
// run as processes of their own load it too.
import { randomUUID } from "node:crypto";

/** What a gateway is started with to break them. */
export function breakPromises({ synchronous, checkLargeBodiesOnLoop, confirmAtOnce, followAhead, ...ofEvents }) {
  return {
    ...(synchronous !== undefined && { openStore: (open) => (url, options) => open(url, { ...options, synchronous }) }),
    ...(followAhead === true && {
      openStore: (open) => async (url, options) => breakFollowing(await open(url, options)),
    }),
    ...(checkLargeBodiesOnLoop === true && {
      createBodyChecker: (create) => (options) => create({ ...options, maxOnLoopBytes: Number.POSITIVE_INFINITY }),
    }),
    ...(confirmAtOnce === true && {
      createConnections: (create) => (options) => withoutConfirms(create(options)),
    }),
    ...(Object.keys(ofEvents).length > 0 && {
      createIngest: (create) => (options) => breakIngest(create(options), ofEvents),
    }),
  };
}

/** As if numbers were given before what has them is visible: the place that a reader has reached is beyond it. */
function breakFollowing(store) {
  const readLog = async (after, request) => {
    const page = await store.reads.readLog(after, request);
    const isNew = page.isEnd && page.events.length > 0;
    return isNew ? { ...page, position: { ...page.position, eventSeq: page.position.eventSeq + 1 } } : page;
  };
  return { ...store, reads: { ...store.reads, readLog } };
}

/** Nobody waits for what the broker says to a message. */
function withoutConfirms(connections) {
  const find = (kind, name) => {
    const connection = connections.find(kind, name);
    return (
      connection && {
        ...connection,
        openPublisher(destination) {
          const publisher = connection.openPublisher(destination);
          return {
            ...publisher,
            async publish(message) {
              void publisher.publish(message);
              return { outcome: "confirmed" };
            },
          };
        },
      }
    );
  };
  return { ...connections, find };
}

/** So long that a kill finds something that was answered and is not on disk, on a busy machine too. */
const COMMIT_LATE_MS = 10_000;

function breakIngest(ingest, { answerBeforeCommit, commitLate, forgetDedupe, forgetHops, ignoreOrder }) {
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
      const accept = () => ingest.accept(spoil(event), () => undefined, to);
      if (commitLate === true) setTimeout(accept, COMMIT_LATE_MS);
      else accept();
      done({ kind: "stored", eventId: event.id, deliveries: 1 });
    },
  };
}
