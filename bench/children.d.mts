import type { ForkOptions } from "node:child_process";

export interface BenchChild {
  ask<Answer>(act: string, ...asked: readonly unknown[]): Promise<Answer>;
  stop(): Promise<void>;
}

export function startChild(name: string, args?: readonly unknown[], options?: ForkOptions): Promise<BenchChild>;
