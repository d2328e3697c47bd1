import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { N8N_PHASES, openN8nServer } from "../../../test/support/n8n-server.ts";
import { openRealN8n } from "../../../test/support/real-n8n.ts";
import type { Story } from "../../support/example.ts";

/** n8n at home, with one workflow: whatever is posted to `/webhook/orders` is run. */
export interface N8n {
  readonly url: string;
  /** For people: which n8n it is. */
  readonly name: string;
  /** As when the power goes. */
  kill(): Promise<void>;
  /** Through all that n8n does while it starts, until it runs workflows. */
  boot(): Promise<void>;
  /** What ran, in the order in which n8n took it. */
  runs(): Promise<readonly WorkflowRun[]>;
}

export interface WorkflowRun {
  orderId: string;
  /** Undefined where n8n does not show it. */
  request: { headers: Readonly<Record<string, string | string[] | undefined>>; raw: Buffer } | undefined;
}

const WORKFLOW = "orders";
const ORDER_ID = /^ord-\d+$/;
/** Of each phase of a simulated start, once the gateway has met it. */
const PHASE_MS = 300;
const [, ...STARTING_PHASES] = N8N_PHASES;

/** Where `N8N_COMMAND` names a real one, that; else a server that answers as n8n does, also while it starts. */
export async function openN8n(story: Story): Promise<N8n> {
  const command = process.env["N8N_COMMAND"];
  if (command === undefined) return openSimulated(story);
  if (!existsSync(command))
    throw new Error(`N8N_COMMAND names ${command}, which does not exist. Unset it to simulate n8n.`);
  return openReal(story);
}

async function openSimulated({ world, until }: Story): Promise<N8n> {
  const server = await world.own("n8n", openN8nServer({ webhooks: [WORKFLOW] }), (opened) => opened.close());
  await server.enter("ready");
  return {
    url: server.url,
    name: "n8n (simulated)",
    kill: () => server.kill(),
    async boot() {
      for (const phase of STARTING_PHASES) {
        const before = server.checked[phase];
        await server.enter(phase);
        await until(`a health check while n8n is "${phase}"`, () => server.checked[phase] > before);
        if (phase !== "ready") await wait(PHASE_MS);
      }
    },
    runs: () =>
      Promise.resolve(
        server.executions.map(({ body, headers, raw }) => ({
          orderId: (body as { id: string }).id,
          request: { headers, raw },
        })),
      ),
  };
}

async function openReal({ world, say }: Story): Promise<N8n> {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-example-n8n-"));
  const n8n = await world.own("n8n", openRealN8n(folder), async (opened) => {
    await opened.kill();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  say("Starting n8n itself; its first start takes a minute or two.");
  await n8n.addWebhooks([WORKFLOW]);
  await n8n.ready(WORKFLOW);
  return {
    url: n8n.url,
    name: "n8n",
    kill: () => n8n.kill(),
    boot: () => n8n.ready(WORKFLOW),
    runs: async () =>
      (await n8n.executions()).flatMap(({ texts }) => {
        const orderId = texts.find((text) => ORDER_ID.test(text));
        return orderId === undefined ? [] : [{ orderId, request: undefined }];
      }),
  };
}
