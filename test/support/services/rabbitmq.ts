// A RabbitMQ node of a test's own, with everything it writes in a temporary folder: to be stopped, killed and started
// again. Tests that only need one use that of the whole run (shared.ts).
import type { ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, openSync, closeSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findInstalled } from "../../../scripts/test-tools.mjs";
import { findFreePort } from "../free-port.ts";
import { endService, startOnFreePorts, startService, untilListening } from "./child-service.ts";

export interface RabbitMq {
  /** Of the first virtual host if none is named. */
  url(vhost?: string): string;
  /** Of a user who may write and read everything in the virtual host, and create nothing. */
  limitedUrl(vhost?: string): string;
  /** Where its management answers, if that was asked for. */
  managementUrl: string | undefined;
  /** Of its processes, while they run. */
  pids(): readonly number[];
  /** As an operator does it: everything durable is kept, and connections are told. */
  stop(): Promise<void>;
  /** Without a word to anybody. */
  kill(): Promise<void>;
  /** Again, on the same port, with what was kept. */
  start(): Promise<void>;
  /** Deletes what it kept, while it does not run: exchanges, queues and messages. */
  empty(): void;
  /** Stops it and deletes what it wrote. */
  close(): Promise<void>;
}

const USER = "guest";
const PASSWORD = "guest";
const LIMITED_USER = "limited";
/** As RabbitMQ 4 has it, where nobody says otherwise. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** Undefined where RabbitMQ is not installed. */
export async function startRabbitMq(
  vhosts: readonly string[] = ["test"],
  { hasManagement = false } = {},
): Promise<RabbitMq | undefined> {
  const program = findInstalled("RabbitMQ");
  return program === undefined ? undefined : startOnFreePorts(() => startNode(program, vhosts, hasManagement));
}

async function startNode(program: string, vhosts: readonly string[], hasManagement: boolean): Promise<RabbitMq> {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-rabbitmq-"));
  const [port, distPort, epmdPort] = [await findFreePort(), await findFreePort(), await findFreePort()];
  const managementPort = hasManagement ? await findFreePort() : undefined;
  const env = prepareFolder(folder, { port, distPort, epmdPort, managementPort, vhosts });
  const log = join(folder, "output.log");
  const output = () => readFileSync(log, "utf8");
  const startLogged = (command: string, args: readonly string[], options: { env?: NodeJS.ProcessEnv } = {}) => {
    const file = openSync(log, "a");
    const child = startService(command, args, { ...options, output: file });
    closeSync(file);
    return child;
  };
  // Started here and not by the node, which would leave it behind.
  const epmd = startLogged("epmd", ["-port", String(epmdPort), "-address", "127.0.0.1"]);
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    server = startLogged(program, [], { env });
    await untilListening(server, [distPort, port, ...(managementPort === undefined ? [] : [managementPort])], output);
  }

  async function end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    if (server !== undefined) await endService(server, signal);
    server = undefined;
  }

  function urlOf(user: string, vhost = vhosts[0] ?? "/"): string {
    return `amqp://${user}:${PASSWORD}@127.0.0.1:${port}/${encodeURIComponent(vhost)}`;
  }

  const rabbitMq: RabbitMq = {
    url: (vhost) => urlOf(USER, vhost),
    limitedUrl: (vhost) => urlOf(LIMITED_USER, vhost),
    managementUrl: managementPort === undefined ? undefined : `http://127.0.0.1:${managementPort}`,
    pids: () => [server, epmd].flatMap((child) => child?.pid ?? []),
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
    start,
    empty: () => rmSync(join(folder, "mnesia"), { recursive: true, force: true, maxRetries: 5 }),
    async close() {
      await end("SIGKILL");
      await endService(epmd, "SIGKILL");
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  try {
    await untilListening(epmd, [epmdPort], output);
    await start();
  } catch (error) {
    await rabbitMq.close();
    throw error;
  }
  return rabbitMq;
}

interface Place {
  port: number;
  distPort: number;
  epmdPort: number;
  managementPort: number | undefined;
  vhosts: readonly string[];
}

function prepareFolder(folder: string, place: Place): NodeJS.ProcessEnv {
  const { port, distPort, epmdPort, managementPort, vhosts } = place;
  const definitions = join(folder, "definitions.json");
  const config = join(folder, "rabbitmq.conf");
  const plugins = join(folder, "enabled_plugins");
  writeFileSync(
    definitions,
    JSON.stringify({
      users: [
        { name: USER, password: PASSWORD, tags: "administrator", limits: {} },
        { name: LIMITED_USER, password: PASSWORD, tags: "", limits: {} },
      ],
      vhosts: vhosts.map((name) => ({ name })),
      permissions: [
        ...vhosts.map((vhost) => ({ user: USER, vhost, configure: ".*", write: ".*", read: ".*" })),
        ...vhosts.map((vhost) => ({ user: LIMITED_USER, vhost, configure: "", write: ".*", read: ".*" })),
      ],
    }),
  );
  writeFileSync(
    config,
    [
      `listeners.tcp.local = 127.0.0.1:${port}`,
      `load_definitions = ${definitions}`,
      "log.console.level = error",
      `max_message_size = ${MAX_MESSAGE_BYTES}`,
      ...(managementPort === undefined
        ? []
        : ["management.tcp.ip = 127.0.0.1", `management.tcp.port = ${managementPort}`]),
    ].join("\n"),
  );
  writeFileSync(plugins, managementPort === undefined ? "[]." : "[rabbitmq_management].");
  mkdirSync(join(folder, "home"));
  return {
    PATH: process.env["PATH"],
    HOME: join(folder, "home"),
    RABBITMQ_NODENAME: `posthorn-${port}@localhost`,
    RABBITMQ_DIST_PORT: String(distPort),
    ERL_EPMD_PORT: String(epmdPort),
    ERL_EPMD_ADDRESS: "127.0.0.1",
    RABBITMQ_MNESIA_BASE: join(folder, "mnesia"),
    RABBITMQ_LOG_BASE: join(folder, "log"),
    RABBITMQ_ENABLED_PLUGINS_FILE: plugins,
    RABBITMQ_CONFIG_FILE: config,
    // One scheduler that does not spin: tests share the machine.
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: "+S 1:1 +sbwt none -kernel inet_dist_use_interface {127,0,0,1}",
  };
}
