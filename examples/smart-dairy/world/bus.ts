import { connect } from "amqplib";
import { startRabbitMq } from "../../../test/support/services/rabbitmq.ts";
import type { Story } from "../../support/example.ts";
import type { Publish } from "./producers.ts";

/** The dairy's event bus: RabbitMQ, with what `posthorn queue declare` has made there. */
export interface Bus {
  readonly url: string;
  /** As the ERP publishes: persistent, with the event's type as its routing key. */
  publish: Publish;
  /** How many messages wait in a queue. */
  count(queue: string): Promise<number>;
}

const EXCHANGE = "smart_dairy.events";

/** At the address that was given, else one of its own; undefined where RabbitMQ is not installed, or not wanted. */
export async function openBus(story: Story): Promise<Bus | undefined> {
  const { world, settings } = story;
  const { amqp: given, "no-bus": isUnwanted } = settings.flags ?? {};
  if (isUnwanted === true) return undefined;
  const url = typeof given === "string" ? given : await startOwn(story);
  if (url === undefined) return undefined;
  const model = await world.own("connection of the ERP", connect(url), (opened) => opened.close());
  const channel = await model.createConfirmChannel();
  return {
    url,
    async publish(events) {
      for (const event of events) {
        channel.publish(EXCHANGE, event.event_type, Buffer.from(JSON.stringify(event)), {
          contentType: "application/json",
          persistent: true,
          messageId: event.event_id,
        });
      }
      await channel.waitForConfirms();
    },
    count: async (queue) => (await channel.checkQueue(queue)).messageCount,
  };
}

async function startOwn({ world, say }: Story): Promise<string | undefined> {
  say("Starting RabbitMQ, where it is installed …");
  const starting = startRabbitMq(["smart-dairy"]);
  const rabbitMq = await world.own("RabbitMQ", starting, (opened) => opened?.close() ?? Promise.resolve());
  return rabbitMq?.url();
}
