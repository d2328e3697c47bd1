import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCommand, runCommand, type Finished, type Running } from "../run-command.ts";
import { buildah } from "./base-image.ts";

/** As `docker inspect` shows it. */
export interface ImageConfig {
  User: string;
  Env: string[];
  Entrypoint: string[];
  Cmd: string[];
  WorkingDir: string;
  Labels: Record<string, string>;
  Volumes: Record<string, object>;
  ExposedPorts: Record<string, object>;
  Healthcheck?: { Test: string[] };
}

/** An image whose files are mounted on this machine. */
export interface OpenImage {
  config: ImageConfig;
  rootfs: string;
  close(): Promise<void>;
}

export interface ContainerOptions {
  /** In place of the command of the image. */
  command?: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** A folder of this machine for each place in the container. */
  volumes: Readonly<Record<string, { from: string; isReadOnly?: boolean }>>;
}

export interface Container extends Running {
  /** Runs a command in it, as its user. */
  exec(command: readonly string[]): Promise<Finished>;
  signal(name: "TERM" | "KILL"): Promise<void>;
}

export async function openImage(name: string): Promise<OpenImage> {
  const id = (await buildah("from", name)).trim();
  const rootfs = (await buildah("mount", id)).trim();
  const { Docker } = JSON.parse(await buildah("inspect", "--type", "image", name)) as {
    Docker: { config: ImageConfig };
  };
  return { config: Docker.config, rootfs, close: async () => void (await buildah("rm", id)) };
}

let containers = 0;

/**
 * As `docker run --read-only --cap-drop=ALL --security-opt=no-new-privileges --tmpfs /tmp --network=host`, with what the
 * image says, and without the folder of programs in which a shell would be.
 */
export function startContainer({ config, rootfs }: OpenImage, options: ContainerOptions): Container {
  const bundle = mkdtempSync(join(tmpdir(), "posthorn-container-"));
  const id = `posthorn-test-${process.pid}-${++containers}`;
  const [uid = 0, gid = 0] = config.User.split(":").map(Number);
  const env = [...config.Env, ...Object.entries(options.env ?? {}).map(([name, value]) => `${name}=${value}`)];
  const spec = {
    ociVersion: "1.0.2",
    process: {
      user: { uid, gid },
      args: [...config.Entrypoint, ...(options.command ?? config.Cmd)],
      env,
      cwd: config.WorkingDir,
      capabilities: {},
      noNewPrivileges: true,
    },
    root: { path: rootfs, readonly: true },
    mounts: [
      { destination: "/proc", type: "proc", source: "proc" },
      { destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["nosuid", "mode=755"] },
      { destination: "/tmp", type: "tmpfs", source: "tmpfs", options: ["nosuid", "nodev", "mode=1777"] },
      { destination: "/usr/bin", type: "tmpfs", source: "tmpfs", options: ["ro"] },
      ...Object.entries(options.volumes).map(([destination, { from, isReadOnly = false }]) => ({
        destination,
        type: "bind",
        source: from,
        options: ["bind", isReadOnly ? "ro" : "rw"],
      })),
    ],
    linux: { namespaces: ["pid", "ipc", "uts", "mount"].map((type) => ({ type })) },
  };
  writeFileSync(join(bundle, "config.json"), JSON.stringify(spec));
  const crun = (...args: string[]) => ["--cgroup-manager=disabled", "--root", join(bundle, "state"), ...args];
  const running = startCommand("crun", crun("run", "--bundle", bundle, id), bundle, {});
  const finished = running.finished.finally(() => rmSync(bundle, { recursive: true, force: true }));
  return {
    ...running,
    finished,
    exec: (command) => runCommand("crun", crun("exec", id, ...command), bundle),
    signal: async (name) => void (await runCommand("crun", crun("kill", id, name), bundle)),
  };
}
