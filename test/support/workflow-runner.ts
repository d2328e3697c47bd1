import { request as sendRequest } from "node:http";
import { runInNewContext } from "node:vm";
import { XmlDocument, XmlElement } from "libxml2-wasm";
import { N8N_ACCEPTS } from "./n8n-requests.ts";

/** A workflow as n8n exports it. */
export interface Workflow {
  id: string;
  active: boolean;
  nodes: WorkflowNode[];
  connections: Record<string, { main: { node: string; type: string; index: number }[][] }>;
}

export interface WorkflowNode {
  id: string;
  name: string;
  type: string;
  typeVersion: number;
  parameters: Record<string, unknown>;
  onError?: string;
}

export interface WorkflowRun {
  /** How many items each node was given, by its name; those that did not run are not among them. */
  readonly ran: ReadonlyMap<string, number>;
  /** Of the node that ended it. */
  readonly error: string | undefined;
}

export interface WorkflowOptions {
  /** In place of what stands in the node `Settings`. */
  settings: Readonly<Record<string, unknown>>;
  /** What the credential of the kind Custom Auth adds to requests. */
  customAuth: { qs: Readonly<Record<string, string>> };
}

/** What goes from node to node; `from` is what it was made of, node by node. */
interface Item extends ItemContent {
  from: ReadonlyMap<string, Item>;
}

interface ItemContent {
  json: Record<string, unknown>;
  /** `data` is base64. */
  binary?: Readonly<Record<string, { data: string; mimeType: string }>> | undefined;
}

/**
 * Runs a workflow as n8n 2 does, as far as the nodes of the examples go: Schedule Trigger, Set, HTTP Request, XML, Code
 * and If, with expressions, paired items and error outputs. An unknown node is an error, not a stub.
 */
export async function runWorkflow(workflow: Workflow, options: WorkflowOptions): Promise<WorkflowRun> {
  const ran = new Map<string, number>();
  const given = new Map<string, readonly Item[]>();
  const first = workflow.nodes.find(({ type }) => type === "n8n-nodes-base.scheduleTrigger");
  if (first === undefined) throw new Error("the workflow has no trigger");
  const waiting: { name: string; items: Item[] }[] = [{ name: first.name, items: [{ json: {}, from: new Map() }] }];
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { name, items } = next;
    const node = workflow.nodes.find((one) => one.name === name);
    if (node === undefined) throw new Error(`there is no node ${name}`);
    ran.set(name, (ran.get(name) ?? 0) + items.length);
    let outputs: Item[][];
    try {
      outputs = await runNode(node, items, given, options);
    } catch (error) {
      return { ran, error: `${name}: ${String(error)}` };
    }
    given.set(name, outputs.flat());
    const following = (workflow.connections[name]?.main ?? []).flatMap((targets, output) =>
      targets.map((target) => ({ name: target.node, items: outputs[output] ?? [] })),
    );
    // One branch to its end, then the next: `executionOrder: v1`.
    waiting.unshift(...following.filter((one) => one.items.length > 0));
  }
  return { ran, error: undefined };
}

type Given = ReadonlyMap<string, readonly Item[]>;

async function runNode(
  node: WorkflowNode,
  items: readonly Item[],
  given: Given,
  options: WorkflowOptions,
): Promise<Item[][]> {
  const { name, type, parameters } = node;
  const follow = (item: Item, json: Record<string, unknown>, binary?: ItemContent["binary"]): Item => {
    const made: Item = { json, binary, from: item.from };
    return { ...made, from: new Map([...item.from, [name, made]]) };
  };
  switch (type) {
    case "n8n-nodes-base.scheduleTrigger":
      return [items.map((item) => follow(item, { timestamp: new Date().toISOString() }))];
    case "n8n-nodes-base.set":
      return [items.map((item) => follow(item, { ...readAssignments(parameters), ...options.settings }))];
    case "n8n-nodes-base.xml":
      return [items.map((item) => follow(item, readXml(String(item.json[String(parameters["dataPropertyName"])]))))];
    case "n8n-nodes-base.code":
      return [
        runCode(String(parameters["jsCode"]), items, given).map(({ json, binary }) =>
          follow(items[0] as Item, json, binary),
        ),
      ];
    case "n8n-nodes-base.if": {
      const isTrue = (item: Item) => readConditions(parameters).every((text) => evaluate(text, item, given) === true);
      return [items.filter(isTrue), items.filter((item) => !isTrue(item))].map((part) =>
        part.map((item) => follow(item, item.json, item.binary)),
      );
    }
    case "n8n-nodes-base.httpRequest": {
      const outputs: Item[][] = [[], []];
      for (const item of items) {
        try {
          const json = await request(parameters, item, given, options);
          outputs[0]?.push(follow(item, json));
        } catch (error) {
          const output = ERROR_OUTPUTS.get(node.onError);
          if (output === undefined) throw error;
          outputs[output]?.push(follow(item, { error: String(error) }));
        }
      }
      return outputs;
    }
    default:
      throw new Error(`this runner does not know the node ${type}`);
  }
}

/** Where an item goes on whose node failed; nowhere by default, and the workflow ends. */
const ERROR_OUTPUTS: ReadonlyMap<string | undefined, number> = new Map([
  ["continueRegularOutput", 0],
  ["continueErrorOutput", 1],
]);

function readAssignments({ assignments }: Record<string, unknown>): Record<string, unknown> {
  const list = (assignments as { assignments: { name: string; value: unknown }[] }).assignments;
  return Object.fromEntries(list.map(({ name, value }) => [name, value]));
}

function readConditions({ conditions }: Record<string, unknown>): string[] {
  return (conditions as { conditions: { leftValue: string }[] }).conditions.map(({ leftValue }) => leftValue);
}

/** As xml2js does with what n8n sets: elements as members, several of one name as a list, an empty one as no text. */
function readXml(text: string): Record<string, unknown> {
  const document = XmlDocument.fromString(text.replace(/^\uFEFF/, ""));
  try {
    return { [document.root.name]: readElement(document.root) };
  } finally {
    document.dispose();
  }
}

function readElement(element: XmlElement): unknown {
  const members = new Map<string, unknown[]>();
  for (let child = element.firstChild; child !== null; child = child.next) {
    if (child instanceof XmlElement) members.set(child.name, [...(members.get(child.name) ?? []), readElement(child)]);
  }
  if (members.size === 0) return element.content.trim();
  return Object.fromEntries([...members].map(([name, values]) => [name, values.length === 1 ? values[0] : values]));
}

function runCode(source: string, items: readonly Item[], given: Given): ItemContent[] {
  const returned: unknown = runInNewContext(`(() => {${source}})()`, {
    $input: { first: () => items[0], all: () => items },
    $: (name: string) => ({ first: () => given.get(name)?.[0] }),
    Buffer,
  });
  // Out of the other realm, where an array is not one of ours.
  return JSON.parse(JSON.stringify(returned)) as ItemContent[];
}

/** A text that begins with `=` holds expressions; one that is nothing else keeps its type. */
function evaluate(text: unknown, item: Item, given: Given): unknown {
  if (typeof text !== "string" || !text.startsWith("=")) return text;
  const run = (source: string): unknown =>
    runInNewContext(source, {
      $json: item.json,
      $: (name: string) => ({ first: () => given.get(name)?.[0], item: item.from.get(name) }),
    });
  const only = /^=\{\{([^}]*)\}\}$/.exec(text)?.[1];
  if (only !== undefined) return run(only);
  return text.slice(1).replace(/\{\{(.*?)\}\}/g, (_, source: string) => String(run(source)));
}

async function request(
  parameters: Record<string, unknown>,
  item: Item,
  given: Given,
  { customAuth }: WorkflowOptions,
): Promise<Record<string, unknown>> {
  const value = (field: string) => evaluate(parameters[field], item, given);
  const url = new URL(String(value("url")));
  if (parameters["genericAuthType"] === "httpCustomAuth") {
    for (const [name, text] of Object.entries(customAuth.qs)) url.searchParams.set(name, text);
  }
  const method = String(value("method"));
  const headers = readHeaders(parameters, item, given);
  // Only these have a body, whatever the node says.
  const hasBody = parameters["sendBody"] === true && ["PATCH", "POST", "PUT", "GET"].includes(method);
  const body = hasBody ? readBody(parameters, item, given) : undefined;
  if (body !== undefined) headers["content-type"] = body.type;
  headers["accept"] ??= N8N_ACCEPTS;
  const { timeout = 300_000, response = {} } = parameters["options"] as RequestOptions;
  const answer = await exchange(url, { method, headers, body: body?.bytes, timeout });
  if (answer.status < 200 || answer.status > 299) throw new Error(`${answer.status} ${answer.text.slice(0, 200)}`);
  const { responseFormat, outputPropertyName = "data" } = response.response ?? {};
  const isJson = answer.contentType.includes("json") && responseFormat !== "text";
  return isJson ? (JSON.parse(answer.text) as Record<string, unknown>) : { [outputPropertyName]: answer.text };
}

function readHeaders(parameters: Record<string, unknown>, item: Item, given: Given): Record<string, string> {
  if (parameters["specifyHeaders"] === "json") {
    return JSON.parse(String(evaluate(parameters["jsonHeaders"], item, given))) as Record<string, string>;
  }
  const { parameters: named = [] } = (parameters["headerParameters"] ?? {}) as { parameters?: Header[] };
  return Object.fromEntries(named.map((one) => [one.name, String(evaluate(one.value, item, given))]));
}

function readBody(parameters: Record<string, unknown>, item: Item, given: Given): { type: string; bytes: Buffer } {
  const value = (field: string) => String(evaluate(parameters[field], item, given));
  switch (parameters["contentType"]) {
    case "binaryData": {
      const { data, mimeType } = item.binary?.[value("inputDataFieldName")] ?? {};
      if (data === undefined || mimeType === undefined) throw new Error("there is no binary data of that name");
      // Of such a type n8n makes a form of its own, and of what it is given the fields.
      if (mimeType.includes("multipart/form-data")) throw new Error("n8n would build another form");
      return { type: mimeType, bytes: Buffer.from(data, "base64") };
    }
    case "raw": {
      const type = value("rawContentType");
      // As axios does with JSON.
      const text = type.includes("application/json") ? value("body").trim() : value("body");
      return { type, bytes: Buffer.from(text) };
    }
    default:
      return { type: "application/json", bytes: Buffer.from(JSON.stringify(JSON.parse(value("jsonBody")))) };
  }
}

interface Exchange {
  method: string;
  headers: Record<string, string>;
  body: Buffer | undefined;
  timeout: number;
}

/** `fetch` would send no body with GET. */
function exchange(
  url: URL,
  { method, headers, body, timeout }: Exchange,
): Promise<{ status: number; contentType: string; text: string }> {
  return new Promise((resolve, reject) => {
    const options = { method, headers, agent: false as const, signal: AbortSignal.timeout(timeout) };
    const request = sendRequest(url, options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", reject);
      response.on("end", () => {
        const { statusCode = 0, headers: answered } = response;
        const text = Buffer.concat(chunks).toString();
        resolve({ status: statusCode, contentType: answered["content-type"] ?? "", text });
      });
    });
    request.on("error", reject).end(body);
  });
}

interface Header {
  name: string;
  value: string;
}

interface RequestOptions {
  timeout?: number;
  response?: { response?: { responseFormat?: string; outputPropertyName?: string } };
}
