import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readParked } from "../../../src/queues/azure-storage-queue/storage-text.ts";
import { PARK_REASON } from "../../../src/queues/broker.ts";
import { buildForwardedPath } from "../../../src/destinations/forward.ts";
import { expandUrl } from "../../../src/destinations/http/request-templates.ts";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";
import type { Workflow } from "../../support/workflow-runner.ts";

/** What steps upwards are made of, and characters that must not stay as they are. */
const PATH_PARTS = [
  "..",
  ".",
  "/",
  "%2e",
  "%2F",
  "%5c",
  "\\",
  "%252e",
  ";a",
  "%3B",
  "#",
  "?",
  "a",
  "\u00e9",
  "\u0142",
  " ",
];

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

  // shows: B12
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
    const whole = {
      v: 1,
      source: "orders",
      event_id: "evt_1",
      event_type: "webhook.orders",
      method: "PUT",
      path: "/webhook/orders/eu",
      query: "dry=1",
      headers: { "x-github-event": "push" },
      remote_address: "203.0.113.7",
      content_type: "application/json",
      body,
    };
    const toMessage = (event: object, dequeues = 1) => ({
      MessageId: "m1",
      PopReceipt: "a+b=",
      DequeueCount: String(dequeues),
      MessageText: Buffer.from(JSON.stringify(event)).toString("base64"),
    });
    const open = (list: unknown) =>
      runCode(workflow, "Open messages", { QueueMessagesList: list }, { Settings: settings }) as Opened[];
    interface Opened {
      json: { is_poison: boolean; poison_text: string; url: string; headers: Record<string, string>; alert: object };
      binary?: { body: { data: string; mimeType: string } };
    }

    // shows: B51
    it("opens one message, several or none", () => {
      expect(open({ QueueMessage: toMessage(whole) })).toMatchObject([
        {
          json: {
            source: "orders",
            event_id: "evt_1",
            is_poison: false,
            message_url: "https://queue.example/webhooks/messages/m1?popreceipt=a%2Bb%3D",
            method: "PUT",
            url: `${settings.n8n_url}/webhook/orders/eu?dry=1`,
            headers: {
              "webhook-id": "evt_1",
              "x-webhook-event": "webhook.orders",
              "x-github-event": "push",
              "x-forwarded-for": "203.0.113.7",
            },
          },
          binary: { body: { data: Buffer.from(body).toString("base64"), mimeType: "application/json" } },
        },
      ]);
      expect(open({ QueueMessage: [toMessage(whole), toMessage(whole)] })).toHaveLength(2);
      expect(open("")).toEqual([]);
    });

    it("builds the URL of a forward, whatever a sender writes into the path", () => {
      const rests = fc.array(fc.constantFrom(...PATH_PARTS), { maxLength: 8 }).map((parts) => parts.join(""));
      const sources = fc.constantFrom("orders", "new.order", "..", "a/b", "ł?#");
      fc.assert(
        fc.property(sources, fc.option(rests), rests, (source, rest, query) => {
          const path = `/webhook/x${rest === null ? "" : `/${rest}`}`;
          const [opened] = open({ QueueMessage: toMessage({ ...whole, source, path, query }) });
          const base = new URL(expandUrl(`${settings.n8n_url}/webhook/{source}`, source));
          expect(opened?.json.url).toBe(base.origin + buildForwardedPath(base, path, query));
        }),
      );
    });

    it("hands on no header of the connection or of a proxy, whatever a message says", () => {
      const headers = {
        Host: "other.example",
        "Content-Length": "1",
        Connection: "x-hop",
        "Transfer-Encoding": "chunked",
        X_Forwarded_For: "203.0.113.9",
        "proxy-authorization": "Basic eA==",
        "x-shop": "7",
        list: ["no", "text"],
      };
      const [opened] = open({ QueueMessage: toMessage({ ...whole, headers, remote_address: undefined }) });
      expect(Object.keys(opened?.json.headers ?? {}).toSorted()).toEqual([
        "content-type",
        "webhook-id",
        "x-posthorn-hops",
        "x-shop",
        "x-webhook-event",
      ]);
    });

    it("hands on an event that was published, and had no request, as a POST", () => {
      const { method, path, query, headers, remote_address, ...published } = whole;
      const [opened] = open({ QueueMessage: toMessage(published) });
      expect([method, path, query, headers, remote_address]).not.toContain(undefined);
      expect(opened?.json).toMatchObject({ method: "POST", url: `${settings.n8n_url}/webhook/orders` });
    });

    it.each([
      ["max_deliveries", whole, 6],
      ["unknown_version", { ...whole, v: 2 }, 1],
      ["claim_check", { ...whole, body: undefined, claim: {} }, 1],
      ["sealed_headers", { ...whole, headers_sealed: "AAAA" }, 1],
      ["delete_with_body", { ...whole, method: "DELETE" }, 1],
      ["unreadable", { ...whole, body: undefined }, 1],
      ["unreadable", { foreign: true }, 1],
    ])("moves what it cannot hand on to the poison queue: %s", (reason, event, dequeues) => {
      const message = toMessage(event, dequeues);
      const [opened] = open({ QueueMessage: message });
      expect(opened?.json).toMatchObject({ is_poison: true, alert: { reason, description: expect.any(String) } });
      const [, text = ""] = /<MessageText>(.*)<\/MessageText>/s.exec(opened?.json.poison_text ?? "") ?? [];
      const parked = readParked(text);
      expect(parked.properties[PARK_REASON]).toBe(reason);
      expect(parked.text).toBe(message.MessageText);
    });

    it("keeps a message that was taken five times", () => {
      expect(open({ QueueMessage: toMessage(whole, 5) })).toMatchObject([{ json: { is_poison: false } }]);
    });

    it("alerts nobody until somebody sets a URL", () => {
      const { assignments } = findNode(workflow, "Settings").parameters["assignments"] as {
        assignments: { name: string; value: unknown }[];
      };
      expect(assignments.find(({ name }) => name === "alert_url")?.value).toBe("");
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
