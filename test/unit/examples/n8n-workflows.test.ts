import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";

const FOLDER = join(PROJECT_ROOT, "examples/n8n-proxy/workflows");

interface Workflow {
  id: string;
  active: boolean;
  nodes: { id: string; name: string; type: string; typeVersion: number; parameters: Record<string, unknown> }[];
  connections: Record<string, { main: { node: string; type: string; index: number }[][] }>;
}

const load = (file: string) => JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as Workflow;

function findNode(workflow: Workflow, name: string) {
  const node = workflow.nodes.find((candidate) => candidate.name === name);
  if (node === undefined) throw new Error(`there is no node ${name}`);
  return node;
}

/** Runs a Code node as n8n does: once, with what the node before it gave. */
function runCode(workflow: Workflow, name: string, input: unknown, others: Record<string, unknown> = {}): unknown {
  const source = `(() => {${String(findNode(workflow, name).parameters["jsCode"])}})()`;
  const items = (json: unknown) => ({ first: () => ({ json }) });
  const returned: unknown = runInNewContext(source, {
    $input: items(input),
    $: (other: string) => items(others[other]),
    Buffer,
  });
  // Out of the other realm, where an array is not one of ours.
  return JSON.parse(JSON.stringify(returned));
}

describe("the workflows for n8n", () => {
  it.each(readdirSync(FOLDER))("%s can be imported: its nodes are unique and its connections lead to them", (file) => {
    const { id, active, nodes, connections } = load(file);
    expect(id).toMatch(/^[A-Za-z0-9]{16}$/);
    expect(active).toBe(false);
    const names = new Set(nodes.map(({ name }) => name));
    expect(names.size).toBe(nodes.length);
    expect(new Set(nodes.map((node) => node.id)).size).toBe(nodes.length);
    const ends = Object.values(connections).flatMap(({ main }) => main.flat().map(({ node }) => node));
    expect([...Object.keys(connections), ...ends].filter((name) => !names.has(name))).toEqual([]);
    expect(nodes.filter(({ type, typeVersion }) => !type.startsWith("n8n-nodes-base.") || typeVersion <= 0)).toEqual(
      [],
    );
  });

  it("build a schema that its sample fits and others do not, and put it where it belongs", () => {
    const workflow = load("build-and-export-schema.json");
    const settings = findNode(workflow, "Settings").parameters["assignments"] as {
      assignments: { name: string; value: string }[];
    };
    const input = Object.fromEntries(settings.assignments.map(({ name, value }) => [name, value]));
    const [made] = runCode(workflow, "Build Schema", input) as { json: { endpoint: string; schema: object } }[];
    expect(made?.json.endpoint).toBe("orders");
    const fits = new Ajv2020().compile(made?.json.schema ?? false);
    expect(fits(JSON.parse(input["sample"] ?? ""))).toBe(true);
    expect(fits({ id: 1 })).toBe(false);
    expect(findNode(workflow, "Export Schema").parameters).toMatchObject({
      method: "PUT",
      url: "={{ $json.posthorn_url }}/validations/{{ $json.endpoint }}",
    });
  });

  it("open messages of a queue, one, several or none", () => {
    const workflow = load("poll-queue.json");
    const settings = { n8n_url: "http://127.0.0.1:5678", queue_url: "https://queue.example/posthorn" };
    const body = '{"id":"ord-1","name":"Łódź"}\n';
    const text = Buffer.from(`{"source":"orders","event_id":"evt_1"}\n${body}`).toString("base64");
    const message = { MessageId: "m1", PopReceipt: "a+b=", MessageText: text };
    const open = (list: unknown) =>
      runCode(workflow, "Open messages", { QueueMessagesList: list }, { Settings: settings });
    expect(open({ QueueMessage: message })).toEqual([
      {
        json: {
          n8n_url: settings.n8n_url,
          source: "orders",
          event_id: "evt_1",
          content_type: "application/json",
          body,
          message_url: "https://queue.example/posthorn/messages/m1?popreceipt=a%2Bb%3D",
        },
      },
    ]);
    expect(open({ QueueMessage: [message, message] })).toHaveLength(2);
    expect(open("")).toEqual([]);
  });
});

describe("the validations of the example", () => {
  it("compile, and take what their sources send", () => {
    const folder = join(FOLDER, "../validations");
    const samples: Record<string, unknown> = {
      "orders.json": { id: "1", customer: { id: "c" }, lines: [{ sku: "a", quantity: 1 }] },
      "payments.json": { id: "1", order_id: "1", amount: "10.00", currency: "PLN" },
      "users.json": { id: "1", email: "a@example.com" },
      "default.json": { any: "thing" },
    };
    expect(readdirSync(folder).sort()).toEqual(Object.keys(samples).sort());
    for (const [file, sample] of Object.entries(samples)) {
      const ajv = new Ajv2020({ strict: false, validateFormats: false });
      const fits = ajv.compile(JSON.parse(readFileSync(join(folder, file), "utf8")) as object);
      expect({ file, good: fits(sample), bad: fits({}) }).toEqual({ file, good: true, bad: false });
    }
  });
});
