import { describe, expect, it } from "vitest";
import { checkByManagement } from "../../../src/queues/amqp/management.ts";
import { bindingsOf, type AmqpTopology } from "../../../src/queues/amqp/topology.ts";
import type { ConnectionInput } from "../../../src/model/connection.ts";

const TOPOLOGY: AmqpTopology = { namespace: "dairy", queueType: "classic", notifications: [] };
const DELAYED = "dairy.delayed";
const INPUT: ConnectionInput = {
  name: "default",
  kind: "amqp",
  url: "amqp://u:p@mq.example/farm",
  management_url: "http://mq.example:15672",
};
const PLUGIN = { type: "x-delayed-message", arguments: { "x-delayed-type": "direct" } };

interface Server {
  /** Of the exchange for delayed messages. */
  exchange?: object;
  types?: readonly string[] | undefined;
  /** What it does not answer. */
  forbids?: string;
}

/** As RabbitMQ's management API answers, where all bindings are there. */
function check(server: Server, known: readonly string[] = []) {
  const { exchange = { type: "direct", arguments: {} }, types = ["direct", "topic"], forbids } = server;
  const asked: string[] = [];
  const answer = (path: string): unknown => {
    if (path === "overview")
      return "types" in server && server.types === undefined ? {} : { exchange_types: types.map((name) => ({ name })) };
    if (path === `exchanges/farm/${DELAYED}`) return exchange;
    return bindingsOf(TOPOLOGY).map(({ key }) => ({ routing_key: key }));
  };
  const report = checkByManagement(INPUT, TOPOLOGY, known, (url) => {
    const path = url.replace("http://mq.example:15672/api/", "");
    asked.push(path);
    const isForbidden = forbids !== undefined && path.startsWith(forbids);
    return Promise.resolve({ status: isForbidden ? 403 : 200, text: JSON.stringify(answer(path)) });
  });
  return { report, asked };
}

const withPlugin = ["direct", "topic", "x-delayed-message"];

describe("what the management API tells of the exchange for delayed messages", () => {
  it.each([
    ["direct, without the plugin", {}],
    ["the plugin's, with it", { exchange: PLUGIN, types: withPlugin }],
  ])("is no difference where it is %s", async (_, server) => {
    expect(await check(server).report).toEqual({ differences: [], unchecked: [] });
  });

  it.each([
    [
      "was declared before the plugin was installed",
      { types: withPlugin },
      'exchange dairy.delayed: type is "direct", but should be "x-delayed-message" (RabbitMQ has the plugin for delayed messages); delete',
    ],
    [
      "has the type of a plugin that is gone",
      { exchange: PLUGIN },
      'exchange dairy.delayed: type is "x-delayed-message", but should be "direct" (RabbitMQ does not have the plugin',
    ],
    [
      "routes otherwise",
      { exchange: { ...PLUGIN, arguments: { "x-delayed-type": "topic" } }, types: withPlugin },
      'exchange dairy.delayed: x-delayed-type is "topic", but should be "direct"; delete',
    ],
  ])("is a difference where it %s", async (_, server, text) => {
    const { differences, unchecked } = await check(server).report;
    expect([differences.length, differences[0], unchecked]).toEqual([1, expect.stringContaining(text), []]);
  });

  it.each([{ forbids: "exchanges" }, { forbids: "overview" }, { types: undefined }])(
    "is not compared, which is said, with %j",
    async (server) => {
      const { differences, unchecked } = await check(server).report;
      expect([differences, unchecked]).toEqual([
        [],
        [expect.stringMatching(/^type of the exchange dairy\.delayed: .* at mq\.example:15672 cannot be used/)],
      ]);
    },
  );

  it("is not compared where nothing is told, and bindings are not either", async () => {
    const { unchecked } = await check({ forbids: "" }).report;
    expect(unchecked.map((text) => text.split(":")[0])).toEqual(["bindings", "type of the exchange dairy.delayed"]);
  });

  it("is not asked for where it is missing", async () => {
    const { report, asked } = check({ types: withPlugin }, [`exchange ${DELAYED} is missing`]);
    expect(await report).toEqual({ differences: [], unchecked: [] });
    expect(asked.filter((path) => path.startsWith("exchanges") || path === "overview")).toEqual([]);
  });
});
