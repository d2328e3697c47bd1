import { openSharedTargets } from "../../../src/resources/targets.ts";
import type { ResourceCase } from "../registry-contract.ts";

const tenantId = "acme";

export const targetsCase: ResourceCase = {
  name: "shared targets",
  kind: "target",
  tenantId,
  ids: ["erp", "home"],
  async open(registry) {
    const targets = await openSharedTargets({
      registry,
      checkDestination: () => {},
      findUser: () => undefined,
      findOwner: () => undefined,
      onChange: () => Promise.resolve(),
    });
    const toInput = (name: string, description: string) => ({ name, tenant_id: tenantId, description });
    return {
      make: (name, description, once) => targets.create(toInput(name, description), once),
      change: (name, description, ifMatch) => targets.change(name, tenantId, { description }, ifMatch),
      remove: (name, ifMatch) => targets.remove(name, tenantId, ifMatch),
      find: (name) => targets.find(name, tenantId),
      noteOf: (name) => targets.find(name, tenantId)?.thing.input.description,
      declare(things) {
        const inputs = things.map(({ id, note }) => toInput(id, note));
        return registry.changeAll((draft) => targets.declareIn(draft, inputs));
      },
    };
  },
};
