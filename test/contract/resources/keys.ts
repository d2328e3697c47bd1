import { openKeys } from "../../../src/resources/keys.ts";
import { NOON } from "../../support/store-fixtures.ts";
import type { ResourceCase } from "../registry-contract.ts";

export const keysCase: ResourceCase = {
  name: "keys",
  kind: "key",
  tenantId: "acme",
  ids: ["key_one", "key_two"],
  keepsRemoved: "a key that is revoked stays to be looked up",
  isNeverDeclared: true,
  async open(registry) {
    const keys = await openKeys({
      registry,
      clock: { wall: () => NOON, now: () => NOON },
      createId: () => "key_generated",
      adminKey: undefined,
      maxKeysPerTenant: 10,
    });
    return {
      make: (id, name, once) => keys.create({ id, name, scopes: ["read"], tenantId: "acme" }, once),
      change: (id, name, ifMatch) => keys.change(id, "acme", { name }, { ifMatch }),
      remove: (id, ifMatch) => keys.revoke(id, "acme", ifMatch),
      find: (id) => keys.find(id, "acme"),
      noteOf: (id) => keys.find(id, "acme")?.thing.name,
    };
  },
};
