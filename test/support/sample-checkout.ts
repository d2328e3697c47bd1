// A small checkout with this project's real scripts and stand-ins for the compiler, the bundler and the test runner, so that the
// scripts can be tried from nothing, offline and in no time.
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const PROJECT_ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

const FAKE_TSC = `
import { appendFileSync, readdirSync, readFileSync } from "node:fs";
appendFileSync("tsc-runs.log", "run\\n");
for (const name of readdirSync("src", { recursive: true })) {
  if (name.endsWith(".ts") && readFileSync("src/" + name, "utf8").includes("BROKEN")) process.exit(2);
}
`;

const FAKE_ROLLDOWN = `
import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
export async function rolldown({ input }) {
  return {
    async write({ dir }) {
      const entries = Object.entries(input).filter(([, source]) => existsSync(source));
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
process.exitCode = Number(process.env.VITEST_EXIT_CODE ?? 0);
`;

export interface SampleCheckout {
  root: string;
  write(path: string, content: string): Promise<void>;
  read(path: string): Promise<string>;
  remove(path?: string): Promise<void>;
}

/** An empty folder of its own. */
export async function openSampleFolder(): Promise<SampleCheckout> {
  const root = await mkdtemp(join(tmpdir(), "posthorn-sample-"));
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

export async function openSampleCheckout(mainSource: string): Promise<SampleCheckout> {
  const checkout = await openSampleFolder();
  for (const folder of ["scripts", "bin"]) {
    await cp(join(PROJECT_ROOT, folder), join(checkout.root, folder), { recursive: true });
  }
  const fakes = {
    typescript: ["bin/tsc", FAKE_TSC],
    rolldown: ["index.js", FAKE_ROLLDOWN],
    vitest: ["vitest.mjs", FAKE_VITEST],
  } as const;
  const packages: Record<string, object> = {};
  const devDependencies: Record<string, string> = {};
  for (const [name, [file, source]] of Object.entries(fakes)) {
    devDependencies[name] = `file:fakes/${name}`;
    packages[`fakes/${name}`] = { version: "1.0.0", dev: true };
    packages[`node_modules/${name}`] = { resolved: `fakes/${name}`, link: true };
    await checkout.write(
      `fakes/${name}/package.json`,
      JSON.stringify({ name, version: "1.0.0", type: "module", main: file }),
    );
    await checkout.write(`fakes/${name}/${file}`, source);
  }
  const { scripts } = JSON.parse(await readFile(join(PROJECT_ROOT, "package.json"), "utf8")) as { scripts: object };
  const manifest = { name: "sample", version: "1.0.0", type: "module", scripts, devDependencies };
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
