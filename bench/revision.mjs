// Another revision of this repository, ready to run: kept beside the results, because installing takes a while.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { run, ScriptFailure } from "../scripts/run.mjs";
import { ROOT } from "../scripts/ensure.mjs";

/** Resolves to the folder of its checkout. */
export async function prepareRevision(revision, folder) {
  const commit = git("rev-parse", "--verify", "--quiet", `${revision}^{commit}`);
  const root = join(folder, commit.slice(0, 12));
  if (!existsSync(root)) {
    mkdirSync(folder, { recursive: true });
    const partial = `${root}.${process.pid}`;
    rmSync(partial, { recursive: true, force: true });
    git("clone", "--quiet", "--no-checkout", ROOT, partial);
    execFileSync("git", ["-C", partial, "checkout", "--quiet", "--detach", commit]);
    renameSync(partial, root);
  }
  const exitCode = await run(process.execPath, [join(root, "scripts/ensure.mjs")], { cwd: root });
  if (exitCode !== 0) throw new ScriptFailure(`revision ${revision} could not be built (exit code ${exitCode})`);
  return root;
}

function git(...args) {
  try {
    return execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
  } catch {
    throw new ScriptFailure(`git ${args.join(" ")} failed: is there such a revision?`, 2);
  }
}
