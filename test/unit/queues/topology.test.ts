import { EventEmitter } from "node:events";
import type { ChannelModel } from "amqplib";
import { describe, expect, it } from "vitest";
import { declareTopology } from "../../../src/queues/amqp/topology.ts";

const NAMESPACE = "dairy";
const DELAYED = `${NAMESPACE}.delayed`;

interface Declared {
  name: string;
  type: string;
  options: unknown;
}

/** As RabbitMQ with or without the plugin answers: it closes the connection that names a type which it does not know. */
function createServer({ hasPlugin, exchanges = [] }: { hasPlugin: boolean; exchanges?: string[] }) {
  const declared: Declared[] = [];
  const known = new Set(exchanges);
  let [opened, closed] = [0, 0];
  function connect(): ChannelModel {
    opened++;
    const model = new EventEmitter();
    const end = () => {
      closed++;
      model.emit("close");
    };
    const channel = Object.assign(new EventEmitter(), {
      checkExchange: (name: string) =>
        known.has(name) ? Promise.resolve({}) : Promise.reject(Object.assign(new Error("NOT_FOUND"), { code: 404 })),
      async assertExchange(name: string, type: string, options: unknown) {
        if (type === "x-delayed-message" && !hasPlugin) {
          end();
          throw new Error("COMMAND_INVALID - unknown exchange type 'x-delayed-message'");
        }
        known.add(name);
        declared.push({ name, type, options });
      },
      assertQueue: () => Promise.resolve({}),
      bindQueue: () => Promise.resolve({}),
      close: () => Promise.resolve(),
    });
    return Object.assign(model, {
      connection: { serverProperties: { version: "3.12.0" } },
      createChannel: () => Promise.resolve(channel),
      async close() {
        if (closed < opened - 1) end();
      },
    }) as unknown as ChannelModel;
  }
  return {
    connect,
    declared,
    findDelayed: () => declared.filter(({ name }) => name === DELAYED),
    countOpen: () => opened - closed,
  };
}

const declare = (server: ReturnType<typeof createServer>) =>
  declareTopology(server.connect(), { namespace: NAMESPACE, queueType: "classic", notifications: [] }, () =>
    Promise.resolve(server.connect()),
  );

describe("the exchange for delayed messages", () => {
  // shows: C13
  it("is the plugin's where RabbitMQ has it", async () => {
    const server = createServer({ hasPlugin: true });
    await declare(server);
    expect(server.findDelayed()).toEqual([
      {
        name: DELAYED,
        type: "x-delayed-message",
        options: { durable: true, arguments: { "x-delayed-type": "direct" } },
      },
    ]);
    // The connection that it was tried on is closed.
    expect(server.countOpen()).toBe(1);
    expect(server.declared).toHaveLength(4);
  });

  it("is direct where RabbitMQ does not know the type, and the other connection stays open", async () => {
    const server = createServer({ hasPlugin: false });
    await declare(server);
    expect(server.findDelayed()).toEqual([{ name: DELAYED, type: "direct", options: { durable: true } }]);
    expect(server.countOpen()).toBe(1);
    expect(server.declared).toHaveLength(4);
  });

  it("stays as it is where there is one, also of another maker", async () => {
    const server = createServer({ hasPlugin: true, exchanges: [DELAYED] });
    await declare(server);
    expect(server.findDelayed()).toEqual([]);
    expect(server.countOpen()).toBe(1);
  });
});
