export interface Waiting {
  /** Set when it no longer waits. */
  readonly isFinished: boolean;
  /** The tenant: several may send to one host, and none may block the others. */
  readonly owner: string;
}

interface Queue<Item> {
  items: Item[];
  /** Items before this index have been served. */
  from: number;
}

/** How many places at the head of a queue may be empty before it is cut: shifting each time would be slow. */
const MAX_SERVED = 1000;

export type WaitingLine<Item extends Waiting> = ReturnType<typeof createWaitingLine<Item>>;
type MayServe = (owner: string) => boolean;

/** Requests that wait for a connection. Owners take turns, and each owner's requests go in order of arrival. */
export function createWaitingLine<Item extends Waiting>() {
  /** In the order of their turns. */
  const owners = new Map<string, Queue<Item>>();

  function queueOf(owner: string): Queue<Item> {
    let queue = owners.get(owner);
    if (queue === undefined) owners.set(owner, (queue = { items: [], from: 0 }));
    return queue;
  }

  /** The first item of a queue that still waits. */
  function findFirst(queue: Queue<Item>): Item | undefined {
    for (; queue.from < queue.items.length; queue.from++) {
      const item = queue.items[queue.from];
      if (item?.isFinished === false) return item;
    }
    return undefined;
  }

  function takeFirst(queue: Queue<Item>): Item | undefined {
    const item = findFirst(queue);
    if (item !== undefined) queue.from += 1;
    if (queue.from > MAX_SERVED) {
      queue.items = queue.items.slice(queue.from);
      queue.from = 0;
    }
    return item;
  }

  return {
    get isEmpty(): boolean {
      return owners.size === 0;
    },
    push(item: Item): void {
      queueOf(item.owner).items.push(item);
    },
    /** Puts a request before all others of its owner. */
    putBack(item: Item): void {
      const queue = queueOf(item.owner);
      queue.items.splice(queue.from, 0, item);
    },
    /** Whether a request waits whose owner may be served; all owners may when `mayServe` is not given. */
    has(mayServe?: MayServe): boolean {
      for (const [owner, queue] of owners) {
        if (findFirst(queue) === undefined) owners.delete(owner);
        else if (mayServe?.(owner) !== false) return true;
      }
      return false;
    },
    /** Takes the next request. */
    take(mayServe?: MayServe): Item | undefined {
      for (const [owner, queue] of owners) {
        // An owner that must wait longer keeps its place in the line.
        if (mayServe?.(owner) === false) continue;
        const item = takeFirst(queue);
        const isDone = queue.from === queue.items.length;
        if (isDone || owners.size > 1) owners.delete(owner);
        // The owner's next turn comes after all others.
        if (!isDone && !owners.has(owner)) owners.set(owner, queue);
        if (item !== undefined) return item;
      }
      return undefined;
    },
  };
}
