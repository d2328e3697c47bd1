import { openTenants } from "../../../src/resources/tenants.ts";
import { NOON } from "../../support/store-fixtures.ts";
import type { ResourceCase } from "../registry-contract.ts";

export const tenantsCase: ResourceCase = {
  name: "tenants",
  kind: "tenant",
  ids: ["acme", "globex"],
  async open(registry, store) {
    const tenants = await openTenants({
      registry,
      store,
      clock: { wall: () => NOON },
      countSubscriptions: () => 0,
      countLiveKeys: () => 0,
      onChange: async () => {},
    });
    return {
      make: (id, name, once) => tenants.create({ id, name }, once),
      change: (id, name, ifMatch) => tenants.change(id, { name }, ifMatch),
      remove: (id, ifMatch) => tenants.remove(id, ifMatch),
      find: (id) => tenants.find(id),
      noteOf: (id) => tenants.find(id)?.thing.name,
      declare(things) {
        const inputs = things.map(({ id, note }) => ({ id, name: note }));
        return registry.changeAll((draft) => tenants.declareIn(draft, inputs));
      },
    };
  },
};
