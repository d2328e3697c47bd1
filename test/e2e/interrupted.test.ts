import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openCliFolder, type CliFolder } from "../support/run-cli.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { createApiClient } from "../support/api-client.ts";

const KEY = "test-admin-key-0123456789";

let folder: CliFolder;
let sink: SinkServer;
beforeEach(async () => {
  folder = await openCliFolder();
  sink = await openSinkServer({ answer: "hang" });
});
afterEach(async () => {
  await folder.remove();
  await sink.close();
});

it("records an interruption only of what was on the wire when it was killed, not of what was claimed ahead", async () => {
  await writeFile(
    join(folder.path, "posthorn.yaml"),
    `subscriptions:\n  - { name: sink, url: "${sink.url}", events: ["#"], concurrency: 1 }\n`,
  );
  const env = {
    POSTHORN_ADMIN_KEY: KEY,
    POSTHORN_ALLOW_PRIVATE_DESTINATIONS: "true",
    POSTHORN_ALLOW_HTTP_DESTINATIONS: "true",
  };
  const gateway = await folder.startGateway([], env);
  const api = createApiClient({ url: () => gateway.url }, KEY);
  for (let i = 0; i < 4; i++) expect((await api.webhook("orders", `{"n":${i}}`)).status).toBe(202);
  await sink.received(1);
  await gateway.stop("SIGKILL");
  sink.answerWith({ status: 200 });

  const next = await folder.startGateway([], env);
  expect(next.output().stdout).toMatch(/"interrupted":1/);
  const nextApi = createApiClient({ url: () => next.url }, KEY);
  await nextApi.settled();
  const deliveries = await Promise.all((await nextApi.deliveries()).map(({ id }) => nextApi.delivery(id)));
  const results = deliveries
    .map(({ attempts }) => attempts.map(({ result }) => result))
    .sort((a, b) => b.length - a.length);
  expect(results).toEqual([["error", "success"], ["success"], ["success"], ["success"]]);
  await next.stop();
});
