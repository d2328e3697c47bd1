import { expect } from "vitest";
import { createDestinationKinds } from "../../../src/destinations/kinds.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { stableId } from "../../../src/model/ids.ts";
import type { Subscription } from "../../../src/model/subscription.ts";
import type { Entry } from "../../../src/resources/resource.ts";
import { createSecretBox } from "../../../src/resources/secret-box.ts";
import { openSubscriptions } from "../../../src/resources/subscriptions/subscriptions.ts";
import { NOON } from "../../support/store-fixtures.ts";
import { createVirtualClock, createVirtualTime } from "../../support/virtual-clock.ts";
import type { ResourceCase } from "../registry-contract.ts";

const tenantId = "default";
const nameOf = new Map(["one", "two"].map((name) => [stableId("sub", `${tenantId}\0${name}`), name]));
const ids = [...nameOf.keys()] as [string, string];

/** All that was written is in it, the seals too. */
function toEntry(subscription: Subscription): Entry<unknown> {
  const { seq, id, version, createdAt, updatedAt } = subscription;
  return { seq, id, tenantId, version, state: undefined, createdAt, updatedAt, thing: subscription };
}

export const subscriptionsCase: ResourceCase = {
  name: "subscriptions",
  kind: "subscription",
  tenantId,
  ids,
  async open(registry) {
    const subscriptions = await openSubscriptions({
      registry,
      clock: createVirtualClock(createVirtualTime(NOON)),
      random: createSeededRandom(1),
      secretBox: createSecretBox("a master key for contracts"),
      createId: () => expect.unreachable("each has an id here"),
      kinds: createDestinationKinds(),
      rejectDestination: () => undefined,
      onChange: () => undefined,
    });
    const inputOf = (id: string, description: string) => ({
      name: nameOf.get(id) ?? id,
      url: "https://example.com/hook",
      events: ["#"],
      headers: { "x-token": "sealed" },
      description,
    });
    const find = (id: string) => subscriptions.findById(id, undefined);
    return {
      async make(id, note, once) {
        const { subscription, isReplay } = await subscriptions.make(inputOf(id, note), { id, once });
        return { entry: toEntry(subscription), isReplay };
      },
      change: async (id, description, ifMatch) =>
        toEntry(await subscriptions.change({ id, tenantId }, { description }, { ifMatch })),
      remove: (id, ifMatch) => subscriptions.remove({ id, tenantId }, ifMatch, () => Promise.resolve()),
      find(id) {
        const subscription = find(id);
        return subscription && toEntry(subscription);
      },
      noteOf: (id) => find(id)?.description,
      async declare(things) {
        const inputs = things.map(({ id, note }) => inputOf(id, note));
        const left = await registry.changeAll((draft) => subscriptions.declareIn(draft, inputs));
        return left.map((name) => stableId("sub", `${tenantId}\0${name}`));
      },
    };
  },
};
