// Fails when a package that is shipped, or that builds what is shipped, has a known advisory. Those of tests are not
// asked for: nobody who runs a gateway has them. Usage: node scripts/check-advisories.mjs [MS], the time that npm's
// registry has to answer. Ends with SKIPPED where it does not, or where it has no advisories.
import { execFile } from "node:child_process";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { toNpmCommand } from "./install.mjs";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const [FAILED, SKIPPED] = [1, 77];
const DEFAULT_MS = 20_000;
const AUDIT = ["audit", "--json", "--include=dev", "--workspace=dashboard", "--include-workspace-root"];

const { report, fault } = await audit(Number(process.argv[2] ?? DEFAULT_MS));
const found = Object.values(report?.vulnerabilities ?? {});
if (report?.vulnerabilities === undefined) {
  process.stdout.write(`advisories are not checked: ${fault ?? describeFault(report)}\n`);
  process.exitCode = SKIPPED;
} else if (found.length > 0) {
  process.stdout.write(found.map(describe).join(""));
  process.exitCode = FAILED;
}

function audit(timeout) {
  const { command, args, options } = toNpmCommand([...AUDIT, "--fetch-retries=0", `--fetch-timeout=${timeout}`]);
  return new Promise((resolve) => {
    const limits = { cwd: ROOT, timeout, maxBuffer: 64 * 1024 * 1024 };
    execFile(command, args, { ...options, ...limits }, (error, stdout) => {
      if (error?.killed === true) return resolve({ fault: `npm's registry did not answer within ${timeout} ms` });
      try {
        resolve({ report: JSON.parse(stdout) });
      } catch {
        resolve({ fault: "npm gave no report" });
      }
    });
  });
}

/** npm's own message names the registry, which may be somebody's own. */
function describeFault({ statusCode, error }) {
  const how = statusCode ?? error?.code;
  return `npm's registry does not answer audit requests${how === undefined ? "" : ` (${how})`}`;
}

function describe({ name, severity, range, via }) {
  const why = via.map((one) => (typeof one === "string" ? `through ${one}` : `${one.title} (${one.url})`));
  return `${[name, range].filter(Boolean).join(" ")}: ${severity}, ${why.join("; ")}\n`;
}
