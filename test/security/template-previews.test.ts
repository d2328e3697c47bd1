import { expect, it, onTestFinished } from "vitest";
import type { ApiClient } from "../support/api-client.ts";
import { startTestGateway } from "../support/test-gateway.ts";

const PREVIEWS = 6;
/** Takes a good part of a second to examine. */
const LONG = "{{a}}".repeat(6000);

it("previews of one tenant hold up neither those of others nor the saving of templates", async () => {
  const gateway = await startTestGateway();
  onTestFinished(() => gateway.close());
  const hostile = gateway.as(await gateway.createKey(["read"], "hostile"));
  const owner = gateway.as(await gateway.createKey(["admin"], "victim"));
  const preview = (client: ApiClient, text: string) =>
    client.post("/api/v1/templates/preview", { templates: [{ text }], event: {} });
  // Both threads have started.
  await Promise.all([preview(hostile, "{{ data.a }}"), preview(gateway, "{{ data.b }}")]);

  let ended = 0;
  const flood = Array.from({ length: PREVIEWS }, async (_, n) => {
    await preview(hostile, `${LONG}${n}`);
    ended++;
  });
  const subscription = {
    name: "rendered",
    events: ["#"],
    url: "https://example.org",
    template: { body: '{"n":{{ data.n | json }}}' },
  };
  const others = async () => {
    const shown = await preview(gateway, "{{ data.c }}");
    const made = await owner.post("/api/v1/subscriptions", subscription);
    return { statuses: [shown.status, made.status], endedBefore: ended };
  };
  const served = others();
  await Promise.allSettled([served, ...flood]);
  const { statuses, endedBefore } = await served;
  expect(statuses).toEqual([200, 201]);
  // All of them, where everybody waits in one line.
  expect(endedBefore).toBeLessThan(PREVIEWS);
  await Promise.all(flood);
});
