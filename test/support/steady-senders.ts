import { request } from "node:http";
import { until } from "./api-client.ts";
import { count } from "./report.ts";

/** How one webhook ended: the status of its answer, or the error of its connection. */
export interface Answered {
  outcome: string;
  startedAt: number;
  endedAt: number;
}

const SENDERS = 10;
const PAUSE_MS = 10;

/** Sends without an end, each webhook on a connection of its own, until it is stopped. */
export function keepSending(port: number): { more(stored: number): Promise<void>; stop(): Promise<Answered[]> } {
  const answers: Answered[] = [];
  const running = new AbortController();
  const senders = Array.from({ length: SENDERS }, async (_, sender) => {
    for (let n = 0; !running.signal.aborted; n++) {
      answers.push(await send(port, JSON.stringify({ sender, n })));
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  });
  const countStored = () => answers.filter(({ outcome }) => outcome === "202").length;
  return {
    /** Resolves when so many more were stored. */
    async more(stored) {
      const before = countStored();
      await until(() => countStored() >= before + stored, undefined, "more answers");
    },
    async stop() {
      running.abort();
      await Promise.all(senders);
      return answers;
    },
  };
}

function send(port: number, body: string): Promise<Answered> {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const end = (outcome: string) => resolve({ outcome, startedAt, endedAt: performance.now() });
    const headers = { "content-type": "application/json" };
    const sent = request(
      { port, host: "127.0.0.1", path: "/webhook/any", method: "POST", headers, agent: false },
      (answer) => {
        answer.resume().on("close", () => end(String(answer.statusCode)));
      },
    );
    sent.on("error", (error: NodeJS.ErrnoException) => end(error.code ?? "error"));
    sent.end(body);
  });
}

/** It got no answer. */
export function isDropped({ outcome }: Answered): boolean {
  return !/^\d+$/.test(outcome);
}

export function tally(answers: readonly Answered[]): string {
  const counts = new Map<string, number>();
  for (const { outcome } of answers) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return [...counts].map(([outcome, times]) => `${count(times)} × ${outcome}`).join(", ");
}
