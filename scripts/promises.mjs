// The promises of docs/explanation/reliability.md, each with the commands and the files that show it.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const PAGE = join(dirname(dirname(fileURLToPath(import.meta.url))), "docs/explanation/reliability.md");

/** The rows of the table: number, promise, commands, files. */
export function readPromises(page = readFileSync(PAGE, "utf8")) {
  const rows = page.split("\n").filter((line) => /^\|( R[^|]*)? \|/.test(line) && !line.startsWith("| | what "));
  return rows.map((row) => {
    const [, , what = "", commands = "", files = ""] = row.split("|").map((cell) => cell.trim());
    return {
      what,
      commands: [...commands.matchAll(/`npm (?:run )?([\w:-]+)[^`]*`/g)].map(([, name = ""]) => name),
      files: [...files.matchAll(/`([^`]+)`/g)].map(([, file = ""]) => file),
    };
  });
}
