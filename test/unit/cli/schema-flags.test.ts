import { Command } from "commander";
import { Type } from "typebox";
import { describe, expect, it } from "vitest";
import { readFlags } from "../../../src/cli/resources/flags.ts";
import { flagsOf, readYesNo, type Exceptions } from "../../../src/cli/resources/schema-flags.ts";

const orNull = (schema: Parameters<typeof Type.Union>[0][number], description = "What") =>
  Type.Optional(Type.Union([schema, Type.Null()], { description }));

const Thing = Type.Object({
  full_name: Type.String({ description: "A name for people" }),
  ordered: Type.Optional(Type.Boolean({ description: "One after the other" })),
  concurrency: Type.Optional(Type.Integer({ minimum: 1, maximum: 10, default: 4, description: "At once" })),
  max_age_s: orNull(Type.Integer({ minimum: 1 }), "Older ones are dropped"),
  wait: Type.Optional(Type.Number({ minimum: 0, description: "Seconds, with `max_age_s`" })),
  mode: Type.Optional(Type.Union([Type.Literal("queue"), Type.Literal("forward")], { description: "`forward` waits" })),
  allowed_ips: orNull(Type.Array(Type.String()), "CIDRs of senders"),
  methods: Type.Optional(Type.Array(Type.Union([Type.Literal("POST"), Type.Literal("PUT")]))),
  labels: Type.Optional(Type.Record(Type.String(), Type.String())),
  filter: orNull(Type.Record(Type.String(), Type.Unknown())),
  policy: Type.Optional(Type.Union([Type.Literal("usual"), Type.Object({ delays: Type.Array(Type.Number()) })])),
  quotas: Type.Optional(Type.Object({ open_things: orNull(Type.Integer({ minimum: 0 })) })),
  hidden: Type.Optional(Type.String()),
});

const EXCEPTIONS: Exceptions = { hidden: null, quotas: { prefix: "max" } };

function commandOf(exceptions: Exceptions = EXCEPTIONS, isNew = false) {
  const flags = flagsOf(Thing, exceptions, isNew);
  const command = new Command("thing").exitOverride().configureOutput({ writeErr: () => undefined });
  for (const option of flags.flatMap(({ options }) => options)) command.addOption(option);
  return {
    help: command.configureHelp({ helpWidth: 1000 }).helpInformation(),
    read: (...args: string[]) => readFlags(flags, command.parse(args, { from: "user" }).opts(), "body").body,
  };
}

describe("flags that are made from a schema", () => {
  it.each<[args: string[], body: object]>([
    [["--full-name", "none"], { full_name: "none" }],
    [["--ordered"], { ordered: true }],
    [["--no-ordered"], { ordered: false }],
    [["--concurrency", "10"], { concurrency: 10 }],
    [["--max-age", "60"], { max_age_s: 60 }],
    [["--max-age", "none"], { max_age_s: null }],
    [["--wait", "2.5"], { wait: 2.5 }],
    [["--mode", "forward"], { mode: "forward" }],
    [["--allowed-ip", "10.0.0.0/8", "::1"], { allowed_ips: ["10.0.0.0/8", "::1"] }],
    [["--allowed-ip", "none"], { allowed_ips: null }],
    [["--method", "POST", "--method", "PUT"], { methods: ["POST", "PUT"] }],
    [["--label", "team=a=b", "x="], { labels: { team: "a=b", x: "" } }],
    [["--filter", '{"data":{"a":1}}'], { filter: { data: { a: 1 } } }],
    [["--filter", "none"], { filter: null }],
    [["--policy", "usual"], { policy: "usual" }],
    [["--max-open-things", "3"], { quotas: { open_things: 3 } }],
    [[], {}],
  ])("read %j", (args, body) => {
    expect(commandOf().read(...args)).toEqual(body);
  });

  it.each([
    [["--concurrency", "11"], '--concurrency: "11" is not a whole number from 1 to 10'],
    [["--concurrency", "1.5"], '--concurrency: "1.5" is not a whole number'],
    [["--max-age", "0"], '--max-age: "0" is not a whole number from 1'],
    [["--wait", "soon"], '--wait: "soon" is not a number from 0'],
    [["--wait", "none"], '--wait: "none" is not a number'],
    [["--mode", "none"], "Allowed choices are queue, forward"],
    [["--method", "GET"], "Allowed choices are POST, PUT"],
    [["--label", "canary"], "--label: one value is not a pair of a name and a value"],
    [["--filter", "{"], "--filter: write JSON, or @FILE"],
    [["--hidden", "x"], "unknown option '--hidden'"],
  ])("reject %j and say what they want", (args, message) => {
    expect(() => commandOf().read(...args)).toThrow(message);
  });

  it("never repeat what may be a secret", () => {
    expect(() => commandOf().read("--label", "canary")).not.toThrow("canary");
  });

  it("have the help of the schema, with flags for fields and none for null", () => {
    const { help } = commandOf();
    expect(help).toMatch(/--full-name <name> +a name for people\n/);
    expect(help).toMatch(/--max-age <seconds> +older ones are dropped; or none\n/);
    expect(help).toMatch(/--wait <seconds> +seconds, with --max-age\n/);
    expect(help).toMatch(/--mode <mode> +forward waits \(choices: "queue", "forward"\)\n/);
    expect(help).toMatch(/--allowed-ip <ip\.\.\.> +CIDRs of senders; or none\n/);
    expect(help).toMatch(/--filter <json> +what; JSON, or @FILE; or none\n/);
    expect(help).not.toContain("default");
    expect(help).not.toContain("hidden");
  });

  it("describe what holds without them where something is made", () => {
    expect(commandOf(EXCEPTIONS, true).help).toMatch(/--concurrency <number> +at once \(default: 4\)\n/);
  });

  it("go by the exceptions first", () => {
    const exceptions: Exceptions = {
      ...EXCEPTIONS,
      full_name: { flag: "-n, --named <text>", help: "its name", isRemovable: true },
      ordered: { flag: "--ordered <yes|no>", read: readYesNo },
      methods: { read: (text) => text.toLowerCase() },
      labels: { readAll: (texts) => texts.length },
    };
    const command = commandOf(exceptions);
    expect(command.help).toMatch(/-n, --named <text> +its name\n/);
    const args = ["-n", "none", "--ordered", "no", "--method", "PUT", "--label", "a", "b"];
    expect(command.read(...args)).toEqual({ full_name: null, ordered: false, methods: ["put"], labels: 2 });
    expect(() => commandOf(exceptions).read("--ordered", "perhaps")).toThrow("--ordered: write yes or no, not perhaps");
  });
});
