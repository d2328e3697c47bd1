import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

/** What a traced gateway did to its disk, and which events it acknowledged, in the order in which it did so. */
export type DiskOp =
  | { kind: "make directory"; path: string }
  | { kind: "open"; path: string; truncates: boolean }
  /** Without an offset it goes to the end. */
  | { kind: "write"; path: string; offset: number | undefined; data: Buffer }
  | { kind: "truncate"; path: string; size: number }
  | { kind: "rename"; from: string; to: string }
  | { kind: "unlink"; path: string }
  /** A sync makes durable what was written before it began, once it has ended. */
  | { kind: "sync begins"; path: string }
  | { kind: "sync ends"; path: string }
  | { kind: "acknowledge"; eventId: string };

const CALLS = "mkdir,openat,rename,unlink,ftruncate,fsync,fdatasync,pwrite64,pwritev,write,writev,sendto,sendmsg";

/** A command that runs the gateway under it. In the background (-D), so that the child process is the gateway. */
export function traceCommand(outputFile: string): string[] {
  const format = ["-y", "-xx", "-s", "16384", "-e", "signal=SIGKILL"];
  return ["strace", "-D", "-f", "--seccomp-bpf", ...format, "-e", `trace=${CALLS}`, "-o", outputFile];
}

const LINE = /^(?<thread>\d+) +(?<call>\w+)\((?<args>.*?)(?:\) += (?<result>-?\d+).*| <unfinished \.\.\.>)$/;
const RESUMED = /^(?<thread>\d+) +<\.\.\. (?<call>\w+) resumed>.*\) += (?<result>-?\d+)/;
const DESCRIPTOR = /^\d+<(?<hex>(?:\\x[0-9a-f]{2})*)>/;
const TEXT = /"(?<hex>(?:\\x[0-9a-f]{2})*)"/g;

export async function readDiskTrace(file: string, folder: string): Promise<DiskOp[]> {
  const ops: DiskOp[] = [];
  const unfinished = new Map<string, { path: string; ops: readonly DiskOp[] }>();
  for await (const line of createInterface({
    input: createReadStream(file, "latin1"),
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    const entered = LINE.exec(line)?.groups;
    if (entered !== undefined) {
      const { thread = "", call = "", args = "", result } = entered;
      if (result?.startsWith("-") === true) continue;
      const path = pathOf(call, args);
      if (path !== undefined && !path.startsWith(folder)) continue;
      const begun = begin(call, args, path);
      if (result === undefined) {
        // Whether a file was opened, made or removed is known at the end of the call only: it may have failed.
        const isKnownLater = call === "openat" || call === "mkdir" || call === "rename" || call === "unlink";
        unfinished.set(thread, { path: path ?? "", ops: isKnownLater ? begun : [] });
        if (isKnownLater) continue;
      }
      ops.push(...begun);
      if (result !== undefined && isSync(call)) ops.push({ kind: "sync ends", path: path ?? "" });
      continue;
    }
    const resumed = RESUMED.exec(line)?.groups;
    if (resumed === undefined) continue;
    const { thread = "", call = "", result = "" } = resumed;
    const { path = "", ops: known = [] } = unfinished.get(thread) ?? {};
    unfinished.delete(thread);
    if (result.startsWith("-")) continue;
    ops.push(...known);
    if (isSync(call) && path !== "") ops.push({ kind: "sync ends", path });
  }
  return ops;
}

function begin(call: string, args: string, path: string | undefined): DiskOp[] {
  const texts = [...args.matchAll(TEXT)].map(({ groups }) => decode(groups?.["hex"] ?? ""));
  if (path === undefined) return texts.flatMap(findAcknowledgements);
  switch (call) {
    case "mkdir":
      return [{ kind: "make directory", path }];
    case "openat":
      return args.includes("O_CREAT") ? [{ kind: "open", path, truncates: args.includes("O_TRUNC") }] : [];
    case "rename":
      return [{ kind: "rename", from: path, to: String(texts[1]) }];
    case "unlink":
      return [{ kind: "unlink", path }];
    case "ftruncate":
      return [{ kind: "truncate", path, size: lastNumber(args) }];
    case "fsync":
    case "fdatasync":
      return [{ kind: "sync begins", path }];
    case "pwrite64":
      return [{ kind: "write", path, offset: lastNumber(args), data: texts[0] ?? Buffer.alloc(0) }];
    default:
      return [{ kind: "write", path, offset: undefined, data: Buffer.concat(texts) }];
  }
}

/** The file that a call is about; undefined for sockets and pipes. */
function pathOf(call: string, args: string): string | undefined {
  if (call !== "mkdir" && call !== "openat" && call !== "rename" && call !== "unlink") {
    const target = String(decode(DESCRIPTOR.exec(args)?.groups?.["hex"] ?? ""));
    return target.startsWith("/") ? target : undefined;
  }
  const first = args.matchAll(TEXT).next().value?.groups?.["hex"];
  return first === undefined ? "" : String(decode(first));
}

function isSync(call: string): boolean {
  return call === "fsync" || call === "fdatasync";
}

function lastNumber(args: string): number {
  return Number(args.slice(args.lastIndexOf(",") + 1));
}

function decode(hex: string): Buffer {
  return Buffer.from(hex.replaceAll("\\x", ""), "hex");
}

/** The head and the body of an answer may be written as two pieces; only the body names the event. */
function findAcknowledgements(text: Buffer): DiskOp[] {
  return [...text.toString("latin1").matchAll(/\{"status":"queued","event_id":"(\w+)"/g)].map(([, eventId = ""]) => ({
    kind: "acknowledge",
    eventId,
  }));
}
