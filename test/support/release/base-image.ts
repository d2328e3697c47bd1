import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CACHE } from "../../../scripts/test-tools.mjs";
import { must } from "./must.ts";

/** Of the line that the Dockerfile names. */
const NODE_VERSION = "24.21.0";
const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";
/** What a program of Node's own build needs of a Linux. */
const DEBIAN = ["--variant=essential", "--include=ca-certificates,libstdc++6,libatomic1", "bookworm"];

const CONTAINERFILE = `FROM scratch
ADD rootfs.tar /
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
COPY npmrc /usr/local/etc/npmrc
COPY ca-certificates.crt ${CERTIFICATES}
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
`;

/** Images of this machine, apart from those that its owner has. */
export const buildah = (...args: string[]): Promise<string> => {
  const store = join(CACHE, "images");
  return must("buildah", [
    "--root",
    join(store, "root"),
    "--runroot",
    join(store, "run"),
    "--storage-driver",
    "overlay",
    ...args,
  ]);
};

/** Stands for the image of Node that no registry is asked for: made of packages of Debian and npm. Kept. */
export async function provideBaseImage(): Promise<string> {
  const name = `localhost/node-of-the-tests:${NODE_VERSION}`;
  if ((await buildah("images", "--quiet", "--filter", `reference=${name}`)) !== "") return name;
  const rootfs = await makeOnce(join(CACHE, "tools/bookworm.tar"), (file) => must("mmdebstrap", [...DEBIAN, file]));
  const context = mkdtempSync(join(CACHE, "base-"));
  try {
    writeFileSync(join(context, "Containerfile"), CONTAINERFILE);
    copyFileSync(rootfs, join(context, "rootfs.tar"));
    copyFileSync(await provideNode("x64"), join(context, "node"));
    cpSync(join((await must("npm", ["root", "--global"])).trim(), "npm"), join(context, "npm"), { recursive: true });
    // It trusts whom this machine trusts, and asks whom this machine asks.
    copyFileSync(CERTIFICATES, join(context, "ca-certificates.crt"));
    const registry = (await must("npm", ["config", "get", "registry"])).trim();
    writeFileSync(join(context, "npmrc"), `cafile=${CERTIFICATES}\nregistry=${registry}\n`);
    await buildah("build", "--isolation", "chroot", "--tag", name, context);
  } finally {
    rmSync(context, { recursive: true, force: true });
  }
  return name;
}

/** The program of Node's own build, for another processor than this one's too. */
export async function provideNode(processor: "x64" | "arm64"): Promise<string> {
  const name = `node-linux-${processor}`;
  const folder = await makeOnce(join(CACHE, `tools/${name}@${NODE_VERSION}`), async (made) => {
    mkdirSync(made);
    await must("npm", ["pack", "--silent", `${name}@${NODE_VERSION}`, "--pack-destination", made]);
    await must("tar", ["-xzf", join(made, `${name}-${NODE_VERSION}.tgz`), "-C", made, "package/bin/node"]);
    rmSync(join(made, `${name}-${NODE_VERSION}.tgz`));
  });
  return join(folder, "package/bin/node");
}

/** Whole or not at all. */
async function makeOnce(path: string, make: (path: string) => Promise<unknown>): Promise<string> {
  if (existsSync(path)) return path;
  mkdirSync(dirname(path), { recursive: true });
  const work = mkdtempSync(`${path}-`);
  try {
    const made = join(work, "made.tar");
    await make(made);
    renameSync(made, path);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return path;
}
