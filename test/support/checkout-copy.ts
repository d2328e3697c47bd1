import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { PROJECT_ROOT } from "./sample-checkout.ts";

/** What a clone would have, with what is not committed yet. */
export function copyCheckout(folder: string): string {
  const checkout = join(folder, "posthorn");
  const listed = execFileSync(
    "git",
    ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"],
    {
      cwd: PROJECT_ROOT,
      encoding: "utf8",
    },
  );
  for (const name of listed.split("\0").filter((one) => one !== "")) {
    mkdirSync(dirname(join(checkout, name)), { recursive: true });
    cpSync(join(PROJECT_ROOT, name), join(checkout, name));
  }
  return checkout;
}

/** As after the first start. */
export function lendInstalled(checkout: string): void {
  symlinkSync(join(PROJECT_ROOT, "node_modules"), join(checkout, "node_modules"));
  cpSync(join(PROJECT_ROOT, "dist"), join(checkout, "dist"), { recursive: true });
}
