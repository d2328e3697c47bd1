import { readFileSync } from "node:fs";

/** package.json is two folders up, both from `src/config` and from `dist/config`. */
const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  version: string;
};

export const VERSION = manifest.version;
