import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import type { Environment } from "../config/environment.ts";
import type { Config } from "../config/settings-tree.ts";
import { parseUrl } from "../model/addresses.ts";
import type { CommandTools } from "../plugin.ts";
import { createApiClient, type ApiAnswer, type ApiClient } from "./api-client.ts";
import { CommandFailure, EXIT_CONFIGURATION, usageFailure } from "./failure.ts";
import { countOf, formatAgo, note, openProgress, print, printJson, printTable } from "./output.ts";
import { getSurroundings, resolvePath } from "./surroundings.ts";

export interface ClientFlags {
  url?: string;
  key?: string;
  json?: boolean;
}

/** Written at the first start when there was no terminal to show the key on. */
export const ADMIN_KEY_FILE = "admin.key";

const KEY = /^[\x21-\x7e]{1,512}$/;

/** Connects, once for a command, to the gateway named by the flags, the environment or the configuration of this folder. */
export async function connect(flags: ClientFlags, options = { needsKey: true }): Promise<ApiClient> {
  const { asked } = getSurroundings();
  return (asked.client ??= await openClient(flags, options));
}

async function openClient(flags: ClientFlags, options: { needsKey: boolean }): Promise<ApiClient> {
  const { env } = getSurroundings();
  const given = findGivenUrl(flags, env);
  const url = given === undefined ? getOwnUrl(await loadLocalConfig(env)) : parseGatewayUrl(given);
  const key = flags.key ?? findVariable(env, "POSTHORN_API_KEY") ?? readKeyFile(env);
  if (key !== undefined && !KEY.test(key))
    throw usageFailure("The key contains characters that are not allowed in a key.");
  if (key !== undefined || !options.needsKey) return createApiClient(url, key);
  // The admin key of this machine's gateway must not be sent to another gateway.
  const isLocal = given === undefined || isThisMachine(new URL(url).hostname);
  return createApiClient(url, isLocal ? findLocalKey(await loadLocalConfig(env)) : undefined);
}

export function findGivenUrl({ url }: Pick<ClientFlags, "url">, env = getSurroundings().env): string | undefined {
  return url ?? findVariable(env, "POSTHORN_URL");
}

async function loadLocalConfig(env: Environment): Promise<Config> {
  const { loadConfig } = await import("../config/load.ts");
  return loadConfig({ env, cwd: getSurroundings().cwd }).config;
}

export function getLocalUrl({ host, port, tlsCert }: Pick<Config, "host" | "port" | "tlsCert">): string {
  if (port === 0) {
    throw new CommandFailure(
      "The configuration does not fix the port (port 0). Name the gateway with --url or POSTHORN_URL.",
      EXIT_CONFIGURATION,
    );
  }
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  const name = reachable.includes(":") ? `[${reachable}]` : reachable;
  return `${tlsCert === undefined ? "http" : "https"}://${name}:${port}`;
}

/** Anybody may have written the configuration of a folder: it must not decide which machine gets the user's key. */
function getOwnUrl(config: Config): string {
  const url = getLocalUrl(config);
  if (isThisMachine(new URL(url).hostname) || isOwnAddress(config.host)) return url;
  throw new CommandFailure(
    `The configuration of this folder names the host ${config.host}, which may be another machine. ` +
      `If you trust it with your key, name it with --url ${url} or POSTHORN_URL.`,
    EXIT_CONFIGURATION,
  );
}

function isOwnAddress(host: string): boolean {
  return Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === host) === true);
}

export function parseGatewayUrl(text: string): string {
  const url = parseUrl(text);
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "" || url.search !== "") {
    throw usageFailure(`"${text}" is not the address of a gateway; write for example http://127.0.0.1:8080.`);
  }
  return url.href.replace(/\/+$/, "");
}

function findVariable(env: Environment, name: string): string | undefined {
  return env[name] === "" ? undefined : env[name];
}

function readKeyFile(env: Environment): string | undefined {
  const path = findVariable(env, "POSTHORN_API_KEY_FILE");
  if (path === undefined) return undefined;
  try {
    return readFileSync(resolvePath(path), "utf8").trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandFailure(`POSTHORN_API_KEY_FILE: cannot read ${path} (${code}).`, EXIT_CONFIGURATION);
  }
}

function findLocalKey({ adminKey, dataDir }: Config): string | undefined {
  if (adminKey !== undefined) {
    note("using the admin key of the configuration");
    return adminKey;
  }
  const path = join(dataDir, ADMIN_KEY_FILE);
  try {
    const key = readFileSync(path, "utf8").trim();
    note(`using the key in ${path}`);
    return key;
  } catch {
    return undefined;
  }
}

/** Only names that are certainly this machine: the admin key is sent there. */
export function isThisMachine(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
}

export async function openCommandTools(flags: ClientFlags): Promise<CommandTools> {
  const client = await connect(flags);
  const wrap = ({ text, read }: ApiAnswer) => ({ text, parse: read });
  return {
    get: async (path, query) => wrap(await client.get(path, query)),
    post: async (path, json) => wrap(await client.send("POST", path, { json })),
    print,
    printJson,
    printTable,
    note,
    openProgress,
    countOf,
    formatAgo: (time) => formatAgo(time, Date.now()),
    failure: (message) => new CommandFailure(message),
  };
}
