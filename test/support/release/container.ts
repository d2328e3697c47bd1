import { readFileSync } from "node:fs";
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
  /** To the first process in it, as a container engine does. */
  signal(name: "SIGTERM" | "SIGKILL"): void;
}

export async function openImage(name: string): Promise<OpenImage> {
  const id = (await buildah("from", name)).trim();
  const rootfs = (await buildah("mount", id)).trim();
  const { Docker } = JSON.parse(await buildah("inspect", "--type", "image", name)) as {
    Docker: { config: ImageConfig };
  };
  return { config: Docker.config, rootfs, close: async () => void (await buildah("rm", id)) };
}

/** What a container's file system is made of, as the first process of the container that it then becomes. */
const SCRIPT = `set -e
root=$1; cwd=$2; uid=$3; gid=$4; volumes=$5; shift 5
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for name in null zero random urandom; do
  : > "$root/dev/$name"
  mount --bind "/dev/$name" "$root/dev/$name"
done
mount -t tmpfs -o nosuid,nodev,mode=1777 tmpfs "$root/tmp"
while [ "$volumes" -gt 0 ]; do
  # A place that the image does not have is made, as Docker does.
  if [ -d "$2" ]; then mkdir -p "$root$1"; else mkdir -p "$root$(dirname "$1")"; : >> "$root$1"; fi
  mount --bind "$2" "$root$1"
  [ "$3" = rw ] || mount -o remount,bind,ro "$root$1"
  volumes=$((volumes - 1)); shift 3
done
mount -o remount,bind,ro "$root"
# The command is found first: it is in the folder that is covered.
unshare=$(command -v unshare); setpriv=$(command -v setpriv)
mount -t tmpfs -o ro tmpfs "$root/usr/bin"
exec "$setpriv" --no-new-privs "$unshare" --root="$root" --wd="$cwd" --setgid="$gid" --setuid="$uid" "$@"`;

/**
 * As `docker run --read-only --cap-drop=ALL --security-opt=no-new-privileges --tmpfs /tmp --network=host`, with what the
 * image says, and without the folder of programs in which a shell would be. No container runtime is needed: those that
 * Debian has ask for control groups that not every machine has.
 */
export function startContainer({ config, rootfs }: OpenImage, options: ContainerOptions): Container {
  const [uid = "0", gid = "0"] = config.User.split(":");
  const env = [...config.Env, ...Object.entries(options.env ?? {}).map(([name, value]) => `${name}=${value}`)];
  const volumes = Object.entries(options.volumes).flatMap(([place, { from, isReadOnly = false }]) => [
    place,
    from,
    isReadOnly ? "ro" : "rw",
  ]);
  const command = [...config.Entrypoint, ...(options.command ?? config.Cmd)];
  const count = String(volumes.length / 3);
  const namespaces = ["--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child"];
  const script = ["sh", "-c", SCRIPT, "sh", rootfs, config.WorkingDir, uid, gid, count, ...volumes, ...command];
  const running = startCommand("env", ["-i", ...env, "unshare", ...namespaces, ...script], "/", {});
  /** The first process in the container, by its number outside of it. */
  const findFirst = (): number => {
    const { pid } = running.child;
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim());
  };
  return {
    ...running,
    exec(words) {
      const args = ["--mount", "--pid", "--root", "--wd", `--setuid=${uid}`, `--setgid=${gid}`];
      return runCommand("env", ["-i", ...env, "nsenter", `--target=${findFirst()}`, ...args, ...words], "/");
    },
    signal(name) {
      if (running.child.exitCode === null) process.kill(findFirst(), name);
    },
  };
}
