import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { readParked } from "../../../src/brokers/azure-storage-queue/storage-text.ts";
import { PARK_REASON } from "../../../src/brokers/broker.ts";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";
import type { Workflow } from "../../support/workflow-runner.ts";

const FOLDER = join(PROJECT_ROOT, "examples/n8n-proxy/workflows");

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

  describe("that polls a queue", () => {
    const workflow = load("poll-queue.json");
    const settings = { n8n_url: "http://127.0.0.1:5678", queue_url: "https://queue.example/webhooks", max_dequeues: 5 };
    const body = '{"id":"ord-1","name":"Łódź"}\n';
    const whole = { v: 1, source: "orders", event_id: "evt_1", content_type: "application/json", body };
    const toMessage = (event: object, dequeues = 1) => ({
      MessageId: "m1",
      PopReceipt: "a+b=",
      DequeueCount: String(dequeues),
      MessageText: Buffer.from(JSON.stringify(event)).toString("base64"),
    });
    const open = (list: unknown) =>
      (
        runCode(workflow, "Open messages", { QueueMessagesList: list }, { Settings: settings }) as { json: Opened }[]
      ).map(({ json }) => json);
    interface Opened {
      is_poison: boolean;
      poison_text: string;
    }

    it("opens one message, several or none", () => {
      expect(open({ QueueMessage: toMessage(whole) })).toMatchObject([
        {
          n8n_url: settings.n8n_url,
          source: "orders",
          event_id: "evt_1",
          content_type: "application/json",
          body,
          is_poison: false,
          message_url: "https://queue.example/webhooks/messages/m1?popreceipt=a%2Bb%3D",
        },
      ]);
      expect(open({ QueueMessage: [toMessage(whole), toMessage(whole)] })).toHaveLength(2);
      expect(open("")).toEqual([]);
    });

    it.each([
      ["max_deliveries", whole, 6],
      ["unknown_version", { ...whole, v: 2 }, 1],
      ["claim_check", { ...whole, body: undefined, claim: {} }, 1],
      ["sealed_headers", { ...whole, headers_sealed: "AAAA" }, 1],
      ["binary_body", { ...whole, body: undefined, body_base64: "AAAA" }, 1],
      ["unreadable", { foreign: true }, 1],
    ])("moves what it cannot hand on to the poison queue: %s", (reason, event, dequeues) => {
      const message = toMessage(event, dequeues);
      const [opened] = open({ QueueMessage: message });
      expect(opened?.is_poison).toBe(true);
      const [, text = ""] = /<MessageText>(.*)<\/MessageText>/s.exec(opened?.poison_text ?? "") ?? [];
      const parked = readParked(text);
      expect(parked.properties[PARK_REASON]).toBe(reason);
      expect(parked.text).toBe(message.MessageText);
    });

    it("keeps a message that was taken five times", () => {
      expect(open({ QueueMessage: toMessage(whole, 5) })).toMatchObject([{ is_poison: false }]);
    });
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
