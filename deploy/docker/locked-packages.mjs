// Writes what the image installs: the packages that Posthorn needs and those that some users add (peers), each as the
// lock file has it. Usage: node locked-packages.mjs FOLDER, in the checkout.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [folder = "."] = process.argv.slice(2);
const read = (file) => JSON.parse(readFileSync(file, "utf8"));

const { name, version, dependencies, peerDependencies, overrides, allowScripts } = read("package.json");
const root = { name, version, dependencies: { ...dependencies, ...peerDependencies } };
const lock = read("package-lock.json");

mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "package.json"), JSON.stringify({ ...root, overrides, allowScripts }));
writeFileSync(join(folder, "package-lock.json"), JSON.stringify({ ...lock, packages: { ...lock.packages, "": root } }));
