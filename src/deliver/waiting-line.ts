/** Those who wait for one of a host's connections: owners take turns, each of them in order of arrival. */
export interface WaitingLine<Item extends Waiting> {
  readonly isEmpty: boolean;
  push(item: Item): void;
  /** Before all others of its owner. */
  putBack(item: Item): void;
  /** The next who still waits. */
  take(): Item | undefined;
}

export interface Waiting {
  /** Set when it no longer waits. */
  readonly isFinished: boolean;
  /** A tenant: several may send to one host, and none must stop the others. */
  readonly owner: string;
}

interface Queue<Item> {
  items: Item[];
  /** Those before it are served. */
  from: number;
}

/** How many places at the head of a queue may be empty before it is cut: shifting each time would be slow. */
const MAX_SERVED = 1000;

export function createWaitingLine<Item extends Waiting>(): WaitingLine<Item> {
  /** In the order of their turns. */
  const owners = new Map<string, Queue<Item>>();

  function queueOf(owner: string): Queue<Item> {
    let queue = owners.get(owner);
    if (queue === undefined) owners.set(owner, (queue = { items: [], from: 0 }));
    return queue;
  }

  function takeFirst(queue: Queue<Item>): Item | undefined {
    while (queue.from < queue.items.length) {
      const item = queue.items[queue.from++];
      if (queue.from > MAX_SERVED) {
        queue.items = queue.items.slice(queue.from);
        queue.from = 0;
      }
      if (item?.isFinished === false) return item;
    }
    return undefined;
  }

  return {
    get isEmpty() {
      return owners.size === 0;
    },
    push(item) {
      queueOf(item.owner).items.push(item);
    },
    putBack(item) {
      const queue = queueOf(item.owner);
      queue.items.splice(queue.from, 0, item);
    },
    take() {
      for (const [owner, queue] of owners) {
        const item = takeFirst(queue);
        const isDone = queue.from === queue.items.length;
        if (isDone || owners.size > 1) owners.delete(owner);
        // To the end of the line.
        if (!isDone && !owners.has(owner)) owners.set(owner, queue);
        if (item !== undefined) return item;
      }
      return undefined;
    },
  };
}
