import { DatabaseSync } from "@photostructure/sqlite";
import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { until } from "./api-client.ts";
import { collectGarbage } from "./collect-garbage.ts";
import { findFreePort } from "./free-port.ts";
import { startCommand, type Running } from "./run-command.ts";

/** n8n itself, as `npm run proofs:n8n` brings it: on loopback, with a folder of its own, asking nobody outside. */
export interface RealN8n {
  /** Without a path; the same through every stop and start. */
  readonly url: string;
  /** Runs one of its commands to the end, beside it or while it is stopped; throws when that fails. */
  run(...args: readonly string[]): Promise<string>;
  /** Imports what is exported to a file elsewhere; a workflow is not active then. */
  importWorkflows(workflows: readonly N8nWorkflow[]): Promise<void>;
  importCredentials(credentials: readonly N8nCredential[]): Promise<void>;
  /** A workflow for each path, which takes a webhook and does no more; active from the next start on. */
  addWebhooks(paths: readonly string[], method?: string): Promise<void>;
  /** An imported workflow is active from the next start on. */
  publish(workflowId: string): Promise<void>;
  /** Returns when the process is there; what it answers while it starts is for others to deal with. */
  start(): void;
  /** Resolves when it is started, if it was not, and answers for this webhook. */
  ready(path: string): Promise<void>;
  /** As its editor does, while it runs. Resolves when that is seen from outside. */
  setActive(path: string, isActive: boolean): Promise<void>;
  /** What its own database holds, in the order in which it took them. */
  executions(): Promise<readonly N8nRun[]>;
  /** As when the power goes. */
  kill(): Promise<void>;
}

export interface N8nWorkflow {
  id: string;
  nodes: N8nNode[];
  [member: string]: unknown;
}

export interface N8nNode {
  name: string;
  parameters: Record<string, unknown>;
  credentials?: Record<string, { id: string; name: string }>;
  [member: string]: unknown;
}

export interface N8nCredential {
  id: string;
  name: string;
  type: string;
  data: Record<string, string>;
}

export interface N8nRun {
  workflowId: string;
  status: string;
  /** All texts that it was given and made. */
  texts: readonly string[];
  /** What its webhook was given; undefined for one that has another trigger. */
  webhook: N8nWebhook | undefined;
}

export interface N8nWebhook {
  headers: Record<string, string>;
  query: Record<string, unknown>;
  body: unknown;
}

/** A machine that does much else starts it in a minute or two. */
const START_PATIENCE_MS = 10 * 60_000;
const OWNER = { email: "owner@example.com", firstName: "Ada", lastName: "Owner", password: "A-password-1" };

export async function openRealN8n(folder: string): Promise<RealN8n> {
  const { N8N_NODE: node = process.execPath, N8N_COMMAND: command } = process.env;
  if (command === undefined) throw new Error("no n8n here: start with npm run proofs:n8n");
  mkdirSync(folder, { recursive: true });
  const port = await findFreePort();
  const brokerPort = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  let server: Running | undefined;
  let cookie: string | undefined;
  let imports = 0;
  let webhooks = 0;

  const execute = (args: readonly string[], ownBrokerPort: number) =>
    startCommand(node, [command, ...args], folder, createEnvironment(folder, node, port, ownBrokerPort));

  async function run(...args: readonly string[]): Promise<string> {
    // A command that runs a workflow has a broker of its own, beside that of the server.
    const { exitCode, stdout, stderr } = await execute(args, await findFreePort()).finished;
    if (exitCode !== 0) throw new Error(`n8n ${args.join(" ")} ended with ${exitCode}: ${stdout}${stderr}`);
    return stdout;
  }

  async function importFile(kind: "workflow" | "credentials", content: unknown): Promise<void> {
    const file = join(folder, `import-${++imports}.json`);
    writeFileSync(file, JSON.stringify(content));
    const said = await run(`import:${kind}`, `--input=${file}`);
    if (!/Successfully imported/.test(said)) throw new Error(`n8n imported nothing of ${file}: ${said}`);
  }

  async function publish(workflowId: string): Promise<void> {
    await run("publish:workflow", `--id=${workflowId}`);
  }

  async function ask(method: string, path: string, body?: unknown): Promise<Response> {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { "content-type": "application/json", ...(cookie !== undefined && { cookie }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
    return response;
  }

  /** The first who comes owns it. */
  async function becomeOwner(): Promise<void> {
    const response = await ask("POST", "/rest/owner/setup", OWNER);
    await response.arrayBuffer();
    cookie = response.headers.getSetCookie()[0]?.split(";", 1)[0];
  }

  function start(): void {
    server ??= execute(["start"], brokerPort);
  }

  function isRunning(): boolean {
    if (server?.child.exitCode === null && server.child.signalCode === null) return true;
    throw new Error(`n8n has ended: ${JSON.stringify(server?.output())}`);
  }

  return {
    url,
    run,
    importWorkflows: (workflows) => importFile("workflow", workflows),
    importCredentials: (credentials) => importFile("credentials", credentials),
    async addWebhooks(paths, method = "POST") {
      await importFile(
        "workflow",
        paths.map((path) => createWebhookWorkflow(path, method, ++webhooks)),
      );
      for (const path of paths) await publish(workflowIdOf(path));
    },
    publish,
    start,
    async ready(path) {
      start();
      await until(async () => isRunning() && (await knowsWebhook(url, path)), START_PATIENCE_MS, "n8n's start");
    },
    async setActive(path, isActive) {
      if (cookie === undefined) await becomeOwner();
      const workflow = `/rest/workflows/${workflowIdOf(path)}`;
      const { data } = (await (await ask("GET", workflow)).json()) as { data: { versionId: string } };
      const body = isActive ? { versionId: data.versionId } : {};
      await (await ask("POST", `${workflow}/${isActive ? "activate" : "deactivate"}`, body)).arrayBuffer();
      await until(async () => (await knowsWebhook(url, path)) === isActive, undefined, "the change of a workflow");
    },
    async executions() {
      const found = readExecutions(join(folder, ".n8n/database.sqlite"));
      await collectGarbage();
      return found;
    },
    async kill() {
      const killed = server;
      server = undefined;
      killed?.child.kill("SIGKILL");
      await killed?.finished;
    },
  };
}

/** Nothing of ours, where NODE_ENV=test would make another n8n of it. */
function createEnvironment(folder: string, node: string, port: number, brokerPort: number): NodeJS.ProcessEnv {
  const ours = Object.fromEntries(Object.keys(process.env).map((name) => [name, undefined]));
  return {
    ...ours,
    // It starts its runner of Code nodes by the name `node`.
    PATH: `${dirname(node)}${delimiter}${process.env["PATH"]}`,
    HOME: folder,
    N8N_USER_FOLDER: folder,
    N8N_HOST: "127.0.0.1",
    N8N_LISTEN_ADDRESS: "127.0.0.1",
    N8N_PORT: String(port),
    N8N_RUNNERS_BROKER_PORT: String(brokerPort),
    N8N_ENCRYPTION_KEY: "a-key-of-these-tests-only",
    N8N_SECURE_COOKIE: "false",
    N8N_DIAGNOSTICS_ENABLED: "false",
    N8N_VERSION_NOTIFICATIONS_ENABLED: "false",
    N8N_DYNAMIC_BANNERS_ENABLED: "false",
    N8N_TEMPLATES_ENABLED: "false",
    N8N_PERSONALIZATION_ENABLED: "false",
    N8N_LICENSE_AUTO_RENEW_ENABLED: "false",
    N8N_DISABLED_MODULES: "community-packages,mcp-registry",
  };
}

/** The shape of an id is up to whoever imports a workflow. */
export const workflowIdOf = (path: string) => path.replaceAll(/[^A-Za-z0-9]/g, "0").padEnd(16, "0");

function createWebhookWorkflow(path: string, method: string, index: number): N8nWorkflow {
  const webhook: N8nNode = {
    id: `webhook-${path}`,
    name: "Webhook",
    type: "n8n-nodes-base.webhook",
    typeVersion: 2.1,
    position: [0, 0],
    webhookId: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
    parameters: { httpMethod: method, path, responseMode: "onReceived", options: {} },
  };
  return { id: workflowIdOf(path), name: path, active: false, settings: {}, nodes: [webhook], connections: {} };
}

/** Asked with another method than it has, so that nothing runs: it says then which one it has. */
async function knowsWebhook(url: string, path: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/webhook/${path}`);
    return (await response.text()).includes("Did you mean to make a ");
  } catch {
    return false;
  }
}

function readExecutions(file: string): N8nRun[] {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 60_000 });
  try {
    const rows = db.prepare(`
      select e.workflowId as workflowId, e.status as status, d.data as data
      from execution_entity e join execution_data d on d.executionId = e.id order by e.id`);
    return (rows.all() as unknown as { workflowId: string; status: string; data: string }[]).map(
      ({ workflowId, status, data }) => ({
        workflowId,
        status,
        texts: parseTexts(data),
        webhook: findWebhook(parseExecution(data)),
      }),
    );
  } finally {
    db.close();
  }
}

/** Its data is a list of all values, in which the members of objects are places in the list: texts stand for themselves. */
function parseTexts(data: string): string[] {
  return (JSON.parse(data) as unknown[]).filter((value) => typeof value === "string");
}

/** The same with the members in their places. */
function parseExecution(data: string): unknown {
  const values = JSON.parse(data) as unknown[];
  const made = new Map<number, unknown>();

  function place(member: unknown): unknown {
    return typeof member === "string" ? find(Number(member)) : member;
  }

  function find(index: number): unknown {
    const value = values[index];
    if (typeof value !== "object" || value === null || made.has(index)) return made.get(index) ?? value;
    const whole: Record<string, unknown> | unknown[] = Array.isArray(value) ? [] : {};
    // Before its members, one of which may be itself.
    made.set(index, whole);
    return Object.assign(whole, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, place(one)])));
  }

  return find(0);
}

interface Execution {
  resultData?: { runData?: { Webhook?: { data?: { main?: { json: N8nWebhook }[][] } }[] } };
}

function findWebhook(execution: unknown): N8nWebhook | undefined {
  return (execution as Execution).resultData?.runData?.Webhook?.[0]?.data?.main?.[0]?.[0]?.json;
}
