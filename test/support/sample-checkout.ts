// A small checkout with this project's real scripts and stand-ins for the bundler and the test runner, so that the scripts can
// be tried from nothing, offline and in no time.
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const PROJECT_ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

const FAKE_ROLLDOWN = `
import { appendFileSync, copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
export async function rolldown({ input }) {
  const entries = Object.entries(input).filter(([, source]) => existsSync(source));
  if ("cli/main" in input) appendFileSync("builds.log", "built\\n");
  if (entries.some(([, source]) => readFileSync(source, "utf8").includes("BROKEN"))) process.exit(2);
  return {
    async write({ dir }) {
      const output = entries.map(([name, source]) => {
        const fileName = name + ".js";
        mkdirSync(dirname(join(dir, fileName)), { recursive: true });
        copyFileSync(source, join(dir, fileName));
        return { type: "chunk", fileName, code: "", moduleIds: [source] };
      });
      return { output };
    },
    async close() {},
  };
}
`;

const FAKE_VITEST = `
import { writeFileSync } from "node:fs";
const option = process.argv.find((arg) => arg.startsWith("--outputFile.json="));
if (process.env.REPORT) writeFileSync(option.slice(option.indexOf("=") + 1), process.env.REPORT);
if (process.env.CPU_LINES) writeFileSync(process.env.POSTHORN_TEST_CPU_LOG, process.env.CPU_LINES);
process.exitCode = Number(process.env.VITEST_EXIT_CODE ?? 0);
`;

export interface SampleCheckout {
  root: string;
  write(path: string, content: string): Promise<void>;
  read(path: string): Promise<string>;
  remove(path?: string): Promise<void>;
}

/** An empty folder of its own. */
export async function openSampleFolder(parent = tmpdir()): Promise<SampleCheckout> {
  const root = await mkdtemp(join(parent, "posthorn-sample-"));
  return {
    root,
    async write(path, content) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), content);
    },
    read: (path) => readFile(join(root, path), "utf8"),
    remove: (path = "") => rm(join(root, path), { recursive: true, force: true }),
  };
}

export async function openSampleCheckout(mainSource: string, parent = tmpdir()): Promise<SampleCheckout> {
  const checkout = await openSampleFolder(parent);
  for (const folder of ["scripts", "bin"]) {
    await cp(join(PROJECT_ROOT, folder), join(checkout.root, folder), { recursive: true });
  }
  for (const file of ["test/projects.mjs", "docs/explanation/reliability.md"]) {
    await cp(join(PROJECT_ROOT, file), join(checkout.root, file));
  }
  const packages: Record<string, object> = {};
  const addFake = async (name: string, file: string, source: string) => {
    packages[`fakes/${name}`] = { version: "1.0.0", dev: true };
    packages[`node_modules/${name}`] = { resolved: `fakes/${name}`, link: true };
    const manifest = { name, version: "1.0.0", type: "module", main: file };
    await checkout.write(`fakes/${name}/package.json`, JSON.stringify(manifest));
    await checkout.write(`fakes/${name}/${file}`, source);
    return { [name]: `file:fakes/${name}` };
  };
  const addWorkspace = async (folder: string, devDependencies: Record<string, string>) => {
    const manifest = { name: `@posthorn/${folder}`, version: "1.0.0", devDependencies };
    packages[folder] = manifest;
    packages[`node_modules/@posthorn/${folder}`] = { resolved: folder, link: true };
    await checkout.write(`${folder}/package.json`, JSON.stringify(manifest));
  };
  const devDependencies = await addFake("rolldown", "index.js", FAKE_ROLLDOWN);
  const { vitest } = await addFake("vitest", "vitest.mjs", FAKE_VITEST);
  await addWorkspace("dashboard", {});
  await addWorkspace("test", { vitest: String(vitest).replace("file:", "file:../") });
  const { scripts } = JSON.parse(await readFile(join(PROJECT_ROOT, "package.json"), "utf8")) as { scripts: object };
  const workspaces = ["dashboard", "test"];
  const manifest = { name: "sample", version: "1.0.0", type: "module", workspaces, scripts, devDependencies };
  await checkout.write("package.json", JSON.stringify(manifest));
  await checkout.write(
    "package-lock.json",
    JSON.stringify({
      name: "sample",
      version: "1.0.0",
      lockfileVersion: 3,
      packages: { "": { ...manifest, scripts: undefined }, ...packages },
    }),
  );
  await checkout.write("src/cli/main.ts", mainSource);
  return checkout;
}
