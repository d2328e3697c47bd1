#!/usr/bin/env node
import { existsSync } from "node:fs";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const main = new URL("../dist/cli/main.js", import.meta.url);

// A reload that is asked for before the gateway can do it must not end it.
if (process.argv[2] === "start") process.on("SIGHUP", () => undefined);

if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`posthorn: needs Node.js 20.19 or newer; this is ${process.version}\n`);
  process.exitCode = 3;
} else if (!existsSync(main)) {
  process.stderr.write("posthorn: dist/cli/main.js is missing; run `npm run build` first\n");
  process.exitCode = 3;
} else {
  await import(main.href);
}
