import { cp, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo, type Server } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, type TestContext } from "vitest";
import { findTool } from "../../scripts/test-tools.mjs";
import { openCommandLine } from "../support/cli.ts";
import { findFreePort } from "../support/free-port.ts";
import { LAUNCHER, NO_SHEDDING, openCliFolder, type CliFolder, type RunningGateway } from "../support/run-cli.ts";
import { startCommand, type Finished, type Running } from "../support/run-command.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { skipWithoutService } from "../support/skip.ts";
import { startTestGateway } from "../support/test-gateway.ts";

let folder: CliFolder;
beforeEach(async () => {
  folder = await openCliFolder();
});
afterEach(() => folder.remove());

const TO_THIS_MACHINE = {
  POSTHORN_ALLOW_HTTP_DESTINATIONS: "true",
  POSTHORN_ALLOW_PRIVATE_DESTINATIONS: "true",
};

const dataFile = (name: string): string => join(folder.path, "data", name);

function startOnTerminal(context: TestContext, args: string): Running {
  const tool = findTool("script");
  if (tool === undefined) return skipWithoutService(context, "script");
  // Without exec, a shell that stays between would end with 130 itself.
  const command = `exec ${process.execPath} ${LAUNCHER} ${args}`;
  return startCommand(tool, ["-qec", command, "/dev/null"], folder.path, {});
}

/** As Linux tells it: signal 1 is the lowest bit of those that are caught. */
async function catchesHangUp(pid: number | undefined): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return (Number.parseInt(/^SigCgt:\s+\w+(\w)$/m.exec(status)?.[1] ?? "0", 16) & 1) === 1;
}

async function answers(url: string): Promise<boolean> {
  return (await fetch(`${url}/readyz`)).ok;
}

describe("posthorn start", () => {
  it("is ready, and ends with 0 after SIGTERM", async () => {
    const gateway = await folder.startGateway();
    expect(await answers(gateway.url)).toBe(true);
    expect((await gateway.stop()).exitCode).toBe(0);
  });

  it("writes the first admin key where only its user can read it, and never again", async () => {
    const first = await folder.startGateway();
    await first.printed(`the new admin key is in ${dataFile("admin.key")}`, "stderr");
    const key = (await readFile(dataFile("admin.key"), "utf8")).trim();
    expect((await stat(dataFile("admin.key"))).mode & 0o777).toBe(0o600);
    const answer = await fetch(`${first.url}/status`, { headers: { authorization: `Bearer ${key}` } });
    expect(answer.status).toBe(200);
    const { stdout, stderr } = await first.stop();
    expect(stdout + stderr).not.toContain(key);

    const second = await folder.startGateway();
    expect((await second.stop()).stderr).not.toContain("admin key");
    expect((await readFile(dataFile("admin.key"), "utf8")).trim()).toBe(key);
  });

  it("shows the admin key on a terminal, once, and keeps no copy", async (context) => {
    const terminal = startOnTerminal(context, "start --port 0");
    await terminal.printed("export POSTHORN_API_KEY");
    const url = /address\s+(http:\S+)/.exec(terminal.output().stdout)?.[1] ?? "";
    await fetch(`${url}/webhook/hello/secret-path?token=secret`, { method: "POST", body: "{}" });
    await terminal.printed("in  POST /webhook/hello 202");
    terminal.child.stdin?.write("\u0003");
    const { exitCode, stdout } = await terminal.finished;
    expect(exitCode).toBe(0);
    expect(stdout.match(/admin key\s+phk_[\w-]{43}/g)).toHaveLength(1);
    expect(stdout).toMatch(/INFO +gateway is listening/);
    expect(stdout).toMatch(/data\s+\S+\/data\s/);
    expect(stdout).not.toContain("secret");
    // The folder is for what somebody puts there.
    await expect(stat(join(folder.path, "validations"))).rejects.toThrow("ENOENT");
    expect(stdout).toMatch(/next\s+in another terminal\s+export POSTHORN_API_KEY=phk_/);
    const banner = stdout.split(/\r?\n/).filter((line) => /^ {2}(?!data|dashboard)/.test(line));
    expect(banner.filter((line) => line.length > 80)).toEqual([]);
    expect(stdout).toMatch(/API reference\s+http:\/\/127\.0\.0\.1:\d+\/docs/);
    await expect(stat(dataFile("admin.key"))).rejects.toThrow("ENOENT");
  });

  it("takes a signal that comes twice at once for one request, as npm doubles a Ctrl+C", async () => {
    const { child, finished } = await folder.startGateway();
    child.kill("SIGINT");
    child.kill("SIGTERM");
    expect((await finished).exitCode).toBe(0);
  });

  it("ends at once with 1 at a second signal, which is no crash", async () => {
    const sink = await openSinkServer({ answer: "hang" });
    try {
      const gateway = await startDelivering(folder, sink.url);
      await sink.received(1);
      gateway.child.kill("SIGTERM");
      await gateway.printed("gateway is stopping");
      const insisting = setInterval(() => gateway.child.kill("SIGTERM"), 50);
      const { exitCode } = await gateway.finished;
      clearInterval(insisting);
      // Not 0, as it would once its attempts had had their time.
      expect(exitCode).toBe(1);
      const next = await folder.startGateway([], TO_THIS_MACHINE);
      await next.printed("deliveries that the last stop interrupted are sent again");
      next.child.kill("SIGKILL");
      await next.finished;
    } finally {
      await sink.close();
    }
  });

  it("reloads what is declared on SIGHUP, and keeps the former when the new one is wrong", async () => {
    const write = (name: string) =>
      writeFile(join(folder.path, "posthorn.yaml"), `sources:\n  - name: ${name}\nany_source: false\n`);
    await write("first");
    const gateway = await folder.startGateway();
    const post = async (source: string): Promise<number> =>
      (await fetch(`${gateway.url}/webhook/${source}`, { method: "POST", body: "{}" })).status;
    expect([await post("first"), await post("second")]).toEqual([202, 404]);

    await write("second");
    gateway.child.kill("SIGHUP");
    await gateway.printed("configuration reloaded");
    expect(await post("second")).toBe(202);

    await write("[broken");
    gateway.child.kill("SIGHUP");
    await gateway.printed("the configuration was not reloaded");
    expect(await post("second")).toBe(202);
    expect((await gateway.stop()).exitCode).toBe(0);
  });
});

describe("a configuration that changes while the gateway runs", () => {
  it("says which settings need a restart, and names no others", async () => {
    const write = (more: string) => writeFile(join(folder.path, "posthorn.yaml"), `sources: [{ name: one }]\n${more}`);
    await write("");
    const gateway = await folder.startGateway();
    await write("held_max_days: 3\nlimits: { max_depth: 50 }\n");
    gateway.child.kill("SIGHUP");
    await gateway.printed("changed settings need a restart");
    expect(gateway.output().stdout).toContain('"settings":["held_max_days","limits.max_depth"]');
    await gateway.stop();
  });

  it("may be announced before the gateway is ready for it", async () => {
    const starting = folder.start(["start", "--port", "0"]);
    // Before the first line of the program runs, nothing can be done about a signal.
    await expect.poll(() => catchesHangUp(starting.child.pid)).toBe(true);
    const announcing = setInterval(() => starting.child.kill("SIGHUP"), 5);
    await starting.printed("gateway is listening");
    clearInterval(announcing);
    starting.child.kill("SIGTERM");
    expect((await starting.finished).exitCode).toBe(0);
  });
});

describe("development mode", () => {
  it("keeps the admin key for the commands of this folder, on a terminal too", async (context) => {
    const port = String(await findFreePort());
    const terminal = startOnTerminal(context, `start --dev --port ${port}`);
    await terminal.printed("in another terminal");
    const key = (await readFile(dataFile("admin.key"), "utf8")).trim();
    expect((await stat(dataFile("admin.key"))).mode & 0o777).toBe(0o600);
    const { exitCode, stderr } = await folder.run(["status"], { POSTHORN_PORT: port });
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining("using the key in")]);
    terminal.child.stdin?.write("\u0003");
    const { stdout } = await terminal.finished;
    expect(stdout).toMatch(new RegExp(`admin key\\s+${key}\\s+commands in this folder find it by themselves`));
    expect(stdout).not.toContain("export POSTHORN_API_KEY");
  });

  it.each([
    ["public_url", ["--dev"], { POSTHORN_PUBLIC_URL: "https://hooks.example.com" }],
    ["trusted_proxies", ["--dev"], { POSTHORN_TRUSTED_PROXIES: "10.0.0.0/8" }],
    ["the host 0.0.0.0", ["--dev", "--host", "0.0.0.0"], {}],
  ])("is rejected together with %s", async (what, args, env) => {
    const { exitCode, stderr } = await runWithoutGateway(["start", "--port", "0", ...args], env);
    expect(exitCode).toBe(3);
    expect(stderr).toContain(`--dev: is for your own machine only, and cannot be used together with ${what}`);
  });
});

describe("a start that cannot work", () => {
  it("says in one line that the port is in use, ends with 3, and makes no key that nobody sees", async () => {
    const other = await listen();
    const port = String((other.address() as AddressInfo).port);
    const { exitCode, stderr } = await folder.run(["start", "--port", port]);
    await close(other);
    expect(exitCode).toBe(3);
    expect(stderr).toMatch(new RegExp(`^posthorn: 127\\.0\\.0\\.1:${port} is already in use\\..*\\n$`));

    const gateway = await folder.startGateway();
    await gateway.printed("the new admin key is in", "stderr");
    await gateway.stop();
  });

  it("says in one line that the data dir cannot be written, and ends with 3", async () => {
    await writeFile(join(folder.path, "file"), "");
    const { exitCode, stderr } = await folder.run(["start", "--port", "0", "--data-dir", "file/data"]);
    expect(exitCode).toBe(3);
    expect(stderr).toMatch(/^posthorn: The data directory \S+\/file\/data cannot be written .*\n$/);
  });

  it("says in one line that another gateway uses the data dir, and ends with 3 while the other goes on", async () => {
    const gateway = await folder.startGateway();
    const { exitCode, stderr } = await folder.run(["start", "--port", "0"]);
    expect(exitCode).toBe(3);
    expect(stderr).toMatch(/^posthorn: Another gateway is running on the data directory .*\n$/);
    expect(await answers(gateway.url)).toBe(true);
    await gateway.stop();
  });

  it.each([
    ["no database at all", () => Buffer.from("this is not a database, but somebody's only copy of it\n".repeat(100))],
    ["a damaged page", (sound: Buffer) => Buffer.from(sound).fill(0xa5, 100, 4096)],
    ["a header cut off", (sound: Buffer) => sound.subarray(0, 50)],
  ])("leaves a corrupt database as it is (%s), and ends with 1", async (_, damage) => {
    const gateway = await startTestGateway();
    await gateway.stop();
    await cp(gateway.dataDir, join(folder.path, "data"), { recursive: true });
    await gateway.close();
    const damaged = damage(await readFile(dataFile("posthorn.db")));
    await writeFile(dataFile("posthorn.db"), damaged);

    const { exitCode, stderr } = await folder.run(["start", "--port", "0"]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^posthorn: The database \S+ is damaged .*\n$/);
    expect((await readFile(dataFile("posthorn.db"))).equals(damaged)).toBe(true);
  });

  it.each([
    [
      "url",
      `subscriptions:\n  - { name: a, url: "ht!tp:/x", events: ["#"] }`,
      "posthorn.yaml:2:21 subscriptions[0].url (a): ",
    ],
    ["kind", "sources:\n  - { name: a, kind: nosuch }", "posthorn.yaml:2:22 sources[0].kind (a): "],
    [
      "template",
      `subscriptions:\n  - { name: a, url: "https://e.example", events: ["#"],\n      template: { body: "{{ x" } }`,
      "posthorn.yaml:3:25 subscriptions[0].template.body (a): ",
    ],
    [
      "secret",
      "sources: [{ name: new, kind: stripe, secrets: [whsec_AA==] }]",
      "posthorn.yaml:1:48 sources[0].secrets[0] (new): has 10 bytes",
    ],
    [
      "schema",
      `event_types:\n  - { name: a.b, versions: [{ version: "1", schema: { type: objekt } }] }`,
      "posthorn.yaml:2:53 event_types[0].versions[0].schema (a.b): versions[0].schema is not a valid JSON Schema",
    ],
  ])("names the line of a declared %s that only the gateway can check, and ends with 3", async (_, yaml, place) => {
    await writeFile(join(folder.path, "posthorn.yaml"), yaml);
    const { exitCode, stderr } = await folder.run(["start", "--port", "0"]);
    expect(exitCode).toBe(3);
    expect(stderr).toContain(`posthorn: The configuration is not valid: ${place}`);
  });

  it("lists everything that is wrong with the configuration, and ends with 3", async () => {
    const yaml = "prot: 1\nlog_level: loud\n";
    const { exitCode, stderr } = await runWithoutGateway(["start", "--role", "worker"], {}, yaml);
    expect(exitCode).toBe(3);
    expect(stderr).toContain("did you mean port?");
    expect(stderr).toContain("log_level");
    expect(stderr).toContain("--role");
  });
});

describe("systemd socket activation", () => {
  it("listens on the socket that was handed over", async () => {
    const { gateway, port } = await startWithSocket("LISTEN_PID=$$");
    expect(gateway.url).toBe(`http://127.0.0.1:${port}`);
    expect(await answers(gateway.url)).toBe(true);
    expect((await gateway.stop()).exitCode).toBe(0);
  });

  it("leaves a socket alone that was meant for another process", async () => {
    const { gateway, port } = await startWithSocket("LISTEN_PID=1");
    expect(gateway.url).not.toBe(`http://127.0.0.1:${port}`);
    expect((await gateway.stop()).exitCode).toBe(0);
  });
});

/** Of a start that ends before there is anything of a gateway: no process is needed, and nothing is made. */
async function runWithoutGateway(args: readonly string[], env: NodeJS.ProcessEnv, yaml = ""): Promise<Finished> {
  const cli = await openCommandLine();
  await writeFile(join(cli.path, "posthorn.yaml"), yaml);
  const finished = await cli.run(args, env);
  expect(await readdir(cli.path)).toEqual(["posthorn.yaml"]);
  await cli.remove();
  return finished;
}

/** The shell becomes the gateway, so that the variables can name its process. */
async function startWithSocket(variable: string): Promise<{ gateway: RunningGateway; port: number }> {
  const server = await listen();
  const fd: unknown = Reflect.get(Reflect.get(server, "_handle") as object, "fd");
  const { port } = server.address() as AddressInfo;
  const line = `${variable} LISTEN_FDS=1 exec ${process.execPath} ${LAUNCHER} start --port 0`;
  const command = startCommand("sh", ["-c", line], folder.path, NO_SHEDDING, Number(fd));
  await command.printed("gateway is listening");
  await close(server);
  const url = /"url":"([^"]+)"/.exec(command.output().stdout)?.[1] ?? "";
  const stop = () => {
    command.child.kill("SIGTERM");
    return command.finished;
  };
  return { gateway: { ...command, url, stop }, port };
}

/** A gateway with one delivery under way. */
async function startDelivering(at: CliFolder, sinkUrl: string): Promise<RunningGateway> {
  const subscription = `  - { name: sink, url: "${sinkUrl}", events: ["#"] }`;
  await writeFile(join(at.path, "posthorn.yaml"), `subscriptions:\n${subscription}\n`);
  const gateway = await at.startGateway([], TO_THIS_MACHINE);
  expect((await fetch(`${gateway.url}/webhook/any`, { method: "POST", body: "{}" })).status).toBe(202);
  return gateway;
}

function listen(): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => resolve(server));
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
