import { describe, expect, it } from "vitest";
import { runExample, type Example } from "../../../examples/support/example.ts";
import { createWorld } from "../../../examples/support/world.ts";
import { captureOutput } from "../../support/captured-output.ts";

const close = (closed: string[]) => (name: string) => Promise.resolve(closed.push(name));

describe("the world of an example", () => {
  it("closes what was opened, also what is still being opened when it ends", async () => {
    const world = createWorld();
    const closed: string[] = [];
    await world.own("gateway", Promise.resolve("gateway"), close(closed));
    let isOpen = (_name: string): void => undefined;
    const opening = new Promise<string>((resolve) => (isOpen = resolve));
    const owning = world.own("broker", opening, close(closed));
    const ending = world.end();
    isOpen("broker");
    await expect(owning).rejects.toThrow("the example has ended");
    expect(await ending).toEqual(["broker", "gateway"]);
    expect(closed.toSorted()).toEqual(["broker", "gateway"]);
  });

  it("starts nothing any more when it has ended", async () => {
    const world = createWorld();
    expect(() => world.guard()).not.toThrow();
    await world.end();
    expect(() => world.guard()).toThrow("the example has ended");
  });
});

describe("an example", () => {
  const goOn = () => Promise.resolve();
  const ending = { figures: {}, summary: [["events", 1]], addresses: [], commands: [], goOn } as const;
  const create = (walk: Example["walk"]): Example => ({ name: "one", summary: "", introduction: "", flags: {}, walk });
  const run = (walk: Example["walk"], settings = {}, signal?: AbortSignal) => {
    const { output, text } = captureOutput();
    const running = runExample(create(walk), settings, { output, ...(signal !== undefined && { signal }) });
    return running.then((outcome) => ({ ...outcome, text: text() }));
  };

  it("ends with 1 and says what was not as it should be, and goes on until its end", async () => {
    const { exitCode, failures, figures, text } = await run(async ({ check }) => {
      check("this is so", true);
      check("that is so", false);
      return ending;
    });
    expect([exitCode, failures, figures]).toEqual([1, ["that is so"], {}]);
    expect(text).toContain("✓ this is so\n   ✗ that is so\n");
  });

  it("ends with 1 when something that it waits for does not come, or fails", async () => {
    const waiting = await run(
      async ({ until }) => {
        await until("the impossible", () => false);
        return ending;
      },
      { patienceMs: 20 },
    );
    expect(waiting).toMatchObject({ exitCode: 1, figures: undefined });
    expect(waiting.failures).toEqual(["the impossible did not come true within 20 ms"]);
    const failing = await run(() => Promise.reject(new Error("no port is free")));
    expect(failing).toMatchObject({ exitCode: 1, failures: ["no port is free"] });
  });

  it("that is kept goes on, whatever fails meanwhile, until it is interrupted", async () => {
    const enough = new AbortController();
    const turns: number[] = [];
    const keptOn = async (turn: number) => {
      turns.push(turn);
      if (turn === 2) enough.abort();
      throw new Error("somebody tried something out");
    };
    const settings = { keep: true, everyMs: 1 };
    const { exitCode, text } = await run(async () => ({ ...ending, goOn: keptOn }), settings, enough.signal);
    expect([exitCode, turns]).toEqual([0, [1, 2]]);
    expect(text).toContain("Still running, and sending, until Ctrl-C");
  });

  it("closes its world and is silent when it is interrupted", async () => {
    const closed: string[] = [];
    const interrupting = new AbortController();
    const { exitCode, text } = await run(
      async ({ world, say }) => {
        await world.own("gateway", Promise.resolve("gateway"), close(closed));
        interrupting.abort();
        await new Promise((resolve) => setImmediate(resolve));
        say("nobody reads this");
        return ending;
      },
      {},
      interrupting.signal,
    );
    expect([exitCode, closed]).toEqual([130, ["gateway"]]);
    expect(text).not.toContain("nobody reads this");
    expect(text).toContain("Stopped: gateway.");
  });
});
