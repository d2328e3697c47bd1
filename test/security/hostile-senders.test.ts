import { describe, expect, it } from "vitest";
import type { ApiClient, ShownRequest } from "../support/api-client.ts";
import { openHostileSenders } from "../support/hostile-senders.ts";
import { report } from "../support/report.ts";

const ROUND_MS = 1500;
const MAX_RSS_MB = 768;

/** R20 against the built gateway, counted; what they cost the good ones in time is a proof of its own. */
describe("hostile senders", () => {
  it("keep no good one from an answer, and do not fill the memory", async () => {
    const { client, attackGateway } = await openHostileSenders();
    const { failed, answered, rssMb } = await attackGateway(ROUND_MS);
    const kept = await countRejected(client, "bad");
    report(
      `R20 hostile senders: ${failed} of ${answered} good webhooks rejected, RSS ${rssMb.toFixed(0)} MB, ` +
        `${kept} rejected requests kept`,
    );
    expect(failed).toBe(0);
    expect(answered).toBeGreaterThan(0);
    expect(rssMb).toBeLessThan(MAX_RSS_MB);
    expect(kept).toBeGreaterThan(0);
    await client.settled();
  });

  async function countRejected(client: ApiClient, source: string): Promise<number> {
    let found = 0;
    let cursor = "";
    for (;;) {
      const { json } = await client.get(`/api/v1/sources/${source}/requests?limit=500${cursor}`);
      found += (json["data"] as ShownRequest[]).length;
      if (json["next_cursor"] === null) return found;
      cursor = `&cursor=${String(json["next_cursor"])}`;
    }
  }
});
