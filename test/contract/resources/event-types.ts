import { openEventTypes } from "../../../src/resources/event-types/event-types.ts";
import { NOON } from "../../support/store-fixtures.ts";
import type { ResourceCase } from "../registry-contract.ts";

export const eventTypesCase: ResourceCase = {
  name: "event types",
  kind: "event_type",
  ids: ["order.created", "order.paid"],
  async open(registry) {
    const types = await openEventTypes({
      registry,
      clock: { wall: () => NOON },
      examine: async () => undefined,
      onChange: () => {},
    });
    return {
      make: (name, description, once) => types.create({ name, description }, once),
      change: (name, description, ifMatch) => types.change(name, { description }, ifMatch),
      remove: (name, ifMatch) => types.remove(name, ifMatch),
      find: (name) => types.find(name),
      noteOf: (name) => types.find(name)?.thing.description,
      declare(things) {
        const inputs = things.map(({ id, note }) => ({ name: id, description: note }));
        return registry.changeAll((draft) => types.declareIn(draft, inputs));
      },
    };
  },
};
