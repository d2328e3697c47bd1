import type { Source } from "../../model/source.ts";
import type { SourceKind } from "../../sources/source-kind.ts";
import { startPuller, type PulledFacts, type Puller, type PullerOptions } from "./puller.ts";

/** One puller for each active source of a pulled kind. */
export interface Pullers {
  start(): void;
  /** Must be called when sources may have changed. */
  update(): void;
  list(): readonly PulledFacts[];
  /** Receives no new messages. */
  stopTaking(): void;
  /** Resolves when all messages are settled or returned. */
  stop(): Promise<void>;
}

export interface PullersOptions extends Omit<PullerOptions, "source" | "kind"> {
  listSources: () => readonly Source[];
  kinds: ReadonlyMap<string, SourceKind>;
}

interface Running {
  source: Source;
  puller: Puller;
}

export function createPullers(options: PullersOptions): Pullers {
  const { listSources, kinds } = options;
  const running = new Map<string, Running>();
  /** By source: the end of the previous puller, which may still hold messages. */
  const ending = new Map<string, Promise<void>>();
  let isStarted = false;

  function start(source: Source): void {
    const kind = kinds.get(source.kind);
    if (kind?.pull !== undefined)
      running.set(source.name, { source, puller: startPuller({ ...options, source, kind }) });
  }

  function end({ source, puller }: Running): void {
    running.delete(source.name);
    const ended = puller.stop().then(() => {
      ending.delete(source.name);
      update();
    });
    ending.set(source.name, ended);
  }

  function update(): void {
    if (!isStarted) return;
    const wanted = new Map(listSources().flatMap((one) => (one.status === "active" ? [[one.name, one]] : [])));
    // A changed source gets a new puller, because its queue may be another one.
    for (const one of running.values()) if (wanted.get(one.source.name) !== one.source) end(one);
    for (const [name, source] of wanted) if (!running.has(name) && !ending.has(name)) start(source);
  }

  return {
    start() {
      isStarted = true;
      update();
    },
    update,
    list: () => [...running.values()].map(({ puller }) => puller.facts),
    stopTaking() {
      isStarted = false;
      for (const { puller } of running.values()) puller.stopTaking();
    },
    async stop() {
      isStarted = false;
      for (const one of running.values()) end(one);
      await Promise.all(ending.values());
    },
  };
}
