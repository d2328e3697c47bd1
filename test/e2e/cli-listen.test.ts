import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { findFreePort } from "../support/free-port.ts";
import { openCliFolder, type CliFolder } from "../support/run-cli.ts";

let folder: CliFolder;
let server: Server;
let port: number;
const got: string[] = [];

beforeAll(async () => {
  folder = await openCliFolder();
  port = await findFreePort();
  folder.env["POSTHORN_ADMIN_KEY"] = "test-admin-key-0123456789";
  folder.env["POSTHORN_PORT"] = String(port);
  folder.env["XDG_STATE_HOME"] = folder.path;
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      got.push(body);
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterAll(async () => {
  await folder.remove();
  await new Promise((resolve) => server.close(resolve));
});

const start = () => folder.startGateway(["--port", String(port)]);
const listen = () => folder.start(["listen", "shop", "--to", String((server.address() as AddressInfo).port)]);
const send = async (data: string) =>
  expect((await folder.run(["send", "--webhook", "shop", "--data", data])).exitCode).toBe(0);

it("goes on over a killed gateway and over its own end, without a gap and in order", async () => {
  let gateway = await start();
  const first = listen();
  await first.printed("listening to the source shop", "stderr");
  await send('{"n":1}');
  await expect.poll(() => got).toEqual(['{"n":1}']);
  await gateway.stop("SIGKILL");
  await first.printed("Trying again", "stderr");
  gateway = await start();
  await send('{"n":2}');
  await expect.poll(() => got, { timeout: 30_000 }).toEqual(['{"n":1}', '{"n":2}']);
  first.child.kill("SIGINT");
  const { exitCode, stderr } = await first.finished;
  expect(exitCode).toBe(0);
  expect(stderr).toContain("the gateway continues to receive and deliver without this command");
  expect(stderr).toContain("listening to the source shop again continues from here");

  expect(stderr).toContain(`forwarding to http://127.0.0.1:${(server.address() as AddressInfo).port}/;`);

  await send('{"n":3}');
  // What a rehearsal shows is not missed later.
  const rehearsal = folder.start(["listen", "shop", "--to", "9", "--fail", "503", "--no-follow"]);
  expect(await rehearsal.finished).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("503") });
  expect(rehearsal.output().stderr).toContain("nothing was forwarded, and the position is where it was");
  const unknown = await folder.run(["listen", "nope", "--to", "9", "--no-follow"]);
  expect(unknown.stderr).toContain('no source or subscription has the name "nope". Forwarding earlier webhooks to');
  const second = listen();
  await expect.poll(() => got, { timeout: 30_000 }).toEqual(['{"n":1}', '{"n":2}', '{"n":3}']);
  second.child.kill("SIGINT");
  await second.finished;
  await gateway.stop();
});
