import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { CommandFailure } from "../failure.ts";
import { getSurroundings } from "../surroundings.ts";

/** Saves how far a run has listened, for the next run. One file for each gateway and source or subscription. */
export interface PositionFile {
  readonly path: string;
  /** Undefined before the first run. */
  readonly last: { readonly position: string; readonly at: string } | undefined;
  save(position: string): void;
}

export function openPositionFile(url: string, what: string): PositionFile {
  const name = createHash("sha256").update(`${url}\0${what}`).digest("hex").slice(0, 16);
  const path = join(stateDir(), "posthorn", `listen-${name}.json`);
  let saved: string | undefined;
  return {
    path,
    last: read(path),
    save(position) {
      if (position === saved) return;
      saved = position;
      const text = JSON.stringify({ gateway: url, listens_to: what, position, at: new Date().toISOString() });
      try {
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        // Write the whole file or nothing: half a position would be a wrong one.
        writeFileSync(`${path}.new`, `${text}\n`, { mode: 0o600 });
        renameSync(`${path}.new`, path);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        throw new CommandFailure(
          `The position cannot be saved in ${path} (${code}). Set XDG_STATE_HOME to a folder that can be written to.`,
        );
      }
    },
  };
}

function stateDir(): string {
  const { XDG_STATE_HOME: given = "", HOME: home = homedir() } = getSurroundings().env;
  return given === "" ? join(home, ".local", "state") : given;
}

function read(path: string): PositionFile["last"] {
  try {
    const { position, at } = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
    return typeof position === "string" && typeof at === "string" ? { position, at } : undefined;
  } catch {
    return undefined;
  }
}
