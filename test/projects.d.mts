export interface Project {
  folder: string;
  isAlone: boolean;
  /** What its files may take; `npm test` fails when they take half more. */
  cpuSeconds?: number;
}

export const TESTS: readonly Project[];
export const SERVICES: { name: string; cpuSeconds: number };
export const PROOFS: readonly Project[];
export const WITH_N8N: readonly Project[];
export const QUICK: { folders: readonly string[]; without: string };
