import { createSystemRandom } from "../../../src/model/clock.ts";
import { createSecretBox } from "../../../src/resources/secret-box.ts";
import { openSources } from "../../../src/resources/sources/sources.ts";
import { NOON } from "../../support/store-fixtures.ts";
import { createVirtualClock, createVirtualTime } from "../../support/virtual-clock.ts";
import type { ResourceCase } from "../registry-contract.ts";

const SECRET = "a-good-secret-0123456789";

/** With a secret each: what is sealed differs each time, and is the same nevertheless. */
export const sourcesCase: ResourceCase = {
  name: "sources",
  kind: "source",
  ids: ["shop", "bank"],
  async open(registry, store) {
    const sources = await openSources({
      registry,
      records: store.records,
      clock: createVirtualClock(createVirtualTime(NOON)),
      random: createSystemRandom(),
      secretBox: createSecretBox("a master key of at least 32 characters"),
      kinds: new Map([["generic", { name: "generic", needsSecret: false }]]),
      anySource: false,
      maxBytes: 1000,
      onFault: (error) => {
        throw error;
      },
    });
    const find = (name: string) => {
      try {
        return sources.get(name, undefined);
      } catch {
        return undefined;
      }
    };
    return {
      make: (name, type, once) => sources.create({ name, event_type: type, secrets: [SECRET] }, {}, once),
      change: (name, type, ifMatch) => sources.change(name, { event_type: type }, { ifMatch }),
      remove: (name, ifMatch) => sources.remove(name, { ifMatch }),
      find,
      noteOf: (name) => find(name)?.thing.state.shown.event_type,
      declare(things) {
        const inputs = things.map(({ id, note }) => ({ name: id, event_type: note, secrets: [SECRET] }));
        return registry.changeAll((draft) => sources.declareIn(draft, inputs));
      },
    };
  },
};
