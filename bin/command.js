import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const command = fileURLToPath(new URL("posthorn.js", import.meta.url));

export const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
