import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, vi } from "vitest";
import { createApiClient } from "../../../src/cli/api-client.ts";
import { followJob } from "../../../src/cli/resources/replays.ts";

it("says on Ctrl+C that the job goes on, and how to follow it again", async () => {
  const server = createServer((_request, response) => {
    response
      .writeHead(200, { connection: "close" })
      .end(JSON.stringify({ id: "rpl_1", status: "running", total: 10, done: 3 }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = createApiClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, "key");
  const noted: string[] = [];
  vi.spyOn(process.stderr, "write").mockImplementation((text) => noted.push(String(text)) > 0);
  try {
    const followed = followJob(client, await client.get("/job"), {
      path: () => "/job",
      doneOf: ({ done }) => Number(done),
      again: ({ id }) => `posthorn replay show ${String(id)} --wait`,
    });
    process.emit("SIGINT");
    await expect(followed).rejects.toMatchObject({ exitCode: 130 });
    expect(noted.join("")).toBe(
      "posthorn: the gateway continues the job; to follow it again: posthorn replay show rpl_1 --wait\n",
    );
    expect(process.listenerCount("SIGINT")).toBe(0);
  } finally {
    vi.restoreAllMocks();
    await new Promise((resolve) => server.close(resolve));
  }
});
