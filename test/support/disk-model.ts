import type { Random } from "../../src/model/clock.ts";
import type { DiskOp } from "./disk-trace.ts";

/** A disk with a cache that a power cut empties: it knows what is certain to be there, and what may be there. */
export interface DiskModel {
  apply(op: DiskOp): void;
  /** The files as they could be found after a power cut now. */
  image(fate: Fate, random: Random): Map<string, Buffer>;
}

/** What becomes of writes that were not synced. */
export const FATES = ["dropped", "kept", "cut off", "scattered"] as const;
export type Fate = (typeof FATES)[number];

type Change = { offset: number; data: Buffer } | { size: number };
type Entry = Inode | "directory";
type NameChange = { path: string; entry: Entry | undefined }[];

interface Inode {
  durable: Buffer;
  /** In the cache only, oldest first. */
  unsynced: Change[];
  /** Length with everything in the cache. */
  size: number;
  /** How many of the unsynced changes a sync that is under way covers. */
  syncing: number;
}

interface Directory {
  durable: Map<string, Entry>;
  unsynced: NameChange[];
  syncing: number;
}

const SECTOR_BYTES = 512;

export function createDiskModel(root: string): DiskModel {
  /** As the running process sees them. */
  const current = new Map<string, Entry>([[root, "directory"]]);
  const directories = new Map<string, Directory>();

  function directoryOf(path: string): Directory {
    let directory = directories.get(path);
    if (directory === undefined) {
      directories.set(path, (directory = { durable: new Map(), unsynced: [], syncing: 0 }));
    }
    return directory;
  }

  function changeNames(changes: NameChange): void {
    for (const { path, entry } of changes) {
      if (entry === undefined) current.delete(path);
      else current.set(path, entry);
    }
    const [first] = changes;
    if (first !== undefined) directoryOf(parentOf(first.path)).unsynced.push(changes);
  }

  function findFile(path: string): Inode | undefined {
    const entry = current.get(path);
    return entry === "directory" ? undefined : entry;
  }

  function change(path: string, by: Change): void {
    const file = findFile(path);
    if (file === undefined) throw new Error(`${path} was written before it was made`);
    file.unsynced.push(by);
    file.size = "size" in by ? by.size : Math.max(file.size, by.offset + by.data.length);
  }

  function endSync(path: string): void {
    const file = findFile(path);
    if (file !== undefined) {
      file.durable = applyChanges(file.durable, file.unsynced.splice(0, file.syncing));
      file.syncing = 0;
    } else if (current.get(path) === "directory") {
      const directory = directoryOf(path);
      for (const changes of directory.unsynced.splice(0, directory.syncing)) setNames(directory.durable, changes);
      directory.syncing = 0;
    }
  }

  function apply(op: DiskOp): void {
    switch (op.kind) {
      case "make directory":
        return changeNames([{ path: op.path, entry: "directory" }]);
      case "open":
        if (!current.has(op.path)) {
          changeNames([{ path: op.path, entry: { durable: Buffer.alloc(0), unsynced: [], size: 0, syncing: 0 } }]);
        } else if (op.truncates) {
          change(op.path, { size: 0 });
        }
        return;
      case "write":
        return change(op.path, { offset: op.offset ?? findFile(op.path)?.size ?? 0, data: op.data });
      case "truncate":
        return change(op.path, { size: op.size });
      case "rename":
        return changeNames([
          { path: op.from, entry: undefined },
          { path: op.to, entry: current.get(op.from) },
        ]);
      case "unlink":
        return changeNames([{ path: op.path, entry: undefined }]);
      case "sync begins": {
        const synced = findFile(op.path) ?? directoryOf(op.path);
        synced.syncing = synced.unsynced.length;
        return;
      }
      case "sync ends":
        return endSync(op.path);
      case "acknowledge":
    }
  }

  return {
    apply,
    image(fate, random) {
      const names = new Map<string, Entry>([[root, "directory"]]);
      // A directory comes before what is in it, because it was made before.
      for (const [path, { durable, unsynced }] of directories) {
        if (!names.has(path)) continue;
        setNames(
          names,
          [...durable].map(([name, entry]) => ({ path: name, entry })),
        );
        for (const changes of unsynced.slice(0, survivors(fate, unsynced.length, random))) setNames(names, changes);
      }
      const files = new Map<string, Buffer>();
      for (const [path, entry] of names) {
        if (entry === "directory") continue;
        files.set(path, applyChanges(entry.durable, surviving(entry.unsynced, fate, random)));
      }
      return files;
    },
  };
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

function setNames(names: Map<string, Entry>, changes: NameChange): void {
  for (const { path, entry } of changes) {
    if (entry === undefined) names.delete(path);
    else names.set(path, entry);
  }
}

/** File systems keep changes of names in order. */
function survivors(fate: Fate, length: number, random: Random): number {
  if (fate === "dropped") return 0;
  return fate === "kept" ? length : Math.floor(random.next() * (length + 1));
}

function surviving(changes: readonly Change[], fate: Fate, random: Random): Change[] {
  switch (fate) {
    case "dropped":
      return [];
    case "kept":
      return [...changes];
    case "cut off": {
      const whole = Math.floor(random.next() * (changes.length + 1));
      const torn = changes[whole];
      const end = torn === undefined ? [] : sectorsOf(torn);
      return [...changes.slice(0, whole), ...end.slice(0, Math.floor(random.next() * end.length))];
    }
    case "scattered": {
      const share = random.next();
      return changes.flatMap(sectorsOf).filter(() => random.next() < share);
    }
  }
}

function sectorsOf(change: Change): Change[] {
  if ("size" in change) return [change];
  const { offset, data } = change;
  const sectors: Change[] = [];
  for (let at = 0; at < data.length;) {
    const end = Math.min(data.length, (Math.floor((offset + at) / SECTOR_BYTES) + 1) * SECTOR_BYTES - offset);
    sectors.push({ offset: offset + at, data: data.subarray(at, end) });
    at = end;
  }
  return sectors;
}

function applyChanges(durable: Buffer, changes: readonly Change[]): Buffer {
  let size = durable.length;
  let capacity = size;
  for (const change of changes) {
    size = "size" in change ? change.size : Math.max(size, change.offset + change.data.length);
    capacity = Math.max(capacity, size);
  }
  const content = Buffer.alloc(capacity);
  durable.copy(content);
  let end = durable.length;
  for (const change of changes) {
    if ("size" in change) {
      if (change.size < end) content.fill(0, change.size, end);
      end = change.size;
    } else {
      change.data.copy(content, change.offset);
      end = Math.max(end, change.offset + change.data.length);
    }
  }
  return content.subarray(0, size);
}
