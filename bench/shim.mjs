// Libraries for LD_PRELOAD, built from the C files beside this one.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Undefined where there is no C compiler. */
export function buildShim(name, dir) {
  const library = join(dir, `${name}.so`);
  const source = fileURLToPath(new URL(`${name}.c`, import.meta.url));
  try {
    execFileSync("cc", ["-shared", "-fPIC", "-O2", "-o", library, source, "-ldl"], { stdio: "pipe" });
    return library;
  } catch {
    return undefined;
  }
}
