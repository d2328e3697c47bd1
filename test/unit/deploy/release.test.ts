import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { runCommand } from "../../support/run-command.ts";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";

const read = (path: string) => readFileSync(join(PROJECT_ROOT, path), "utf8");
const { scripts, version } = JSON.parse(read("package.json")) as { scripts: Record<string, string>; version: string };
const WORKFLOWS = readdirSync(join(PROJECT_ROOT, ".github/workflows")).map((name) => `.github/workflows/${name}`);

interface Workflow {
  jobs: Record<string, { strategy?: { matrix: Record<string, unknown[]> }; steps: { run?: string; uses?: string }[] }>;
}

/** Scripts of npm and files of this checkout that commands of a workflow name, and that are not there. */
function findMissing(commands: readonly string[], files: readonly string[]): string[] {
  const text = commands.join("\n");
  const named = [...text.matchAll(/\bnpm run ([\w:-]+)/g)].map(([, name = ""]) => name);
  const paths = [...text.matchAll(/(?<=^|\s)((?:scripts|deploy|\.ci)\/[\w./-]+)/gm)].map(([, path = ""]) => path);
  return [
    ...named.filter((name) => !(name in scripts)),
    ...paths.filter((path) => !files.some((file) => file === path || file.startsWith(`${path}/`))),
  ];
}

/** Hosts of registries, not even named here; which one is used is said by whoever builds. */
const REGISTRIES = [
  ["docker", "io"],
  ["ghcr", "io"],
  ["quay", "io"],
  ["mcr", "microsoft", "com"],
  ["registry", "npmjs", "org"],
].map((labels) => labels.join("."));

const findRegistries = (text: string): string[] => REGISTRIES.filter((host) => text.includes(host));

describe("the workflows", () => {
  const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: PROJECT_ROOT })
    .toString()
    .split("\n");
  const workflows = WORKFLOWS.map((path) => ({ path, workflow: parse(read(path)) as Workflow }));

  it("use only scripts and files that there are", () => {
    expect(workflows.length).toBeGreaterThan(1);
    for (const { path, workflow } of workflows) {
      const commands = Object.values(workflow.jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []));
      expect(commands.length).toBeGreaterThan(2);
      expect([path, findMissing(commands, files)]).toEqual([path, []]);
    }
    // The control.
    expect(findMissing(["npm run tset", "sudo .ci/rnu", "npm run check"], files)).toEqual(["tset", ".ci/rnu"]);
  });

  it("run the tests on all versions of Node and on all machines that the pages promise", () => {
    const text = read(".github/workflows/ci.yml");
    const { node } = (parse(text) as Workflow).jobs;
    const versions = [24, ...(node?.strategy?.matrix["node"] ?? [])];
    expect(new Set(versions)).toEqual(new Set([20, 22, 24, 26]));
    for (const runner of ["ubuntu-24.04", "ubuntu-24.04-arm", "macos-"]) expect(text).toContain(runner);
  });

  it("name no registry, and neither does anything else that is released", () => {
    const paths = files.filter((path) =>
      /^(\.github|deploy|examples|docs)\/|^(Dockerfile|compose\.yaml|README\.md)$/.test(path),
    );
    expect(paths.length).toBeGreaterThan(50);
    const text = paths.filter((path) => !path.endsWith(".png")).map(read);
    expect(text.flatMap(findRegistries)).toEqual([]);
    expect(findRegistries(`FROM ${REGISTRIES[0]}/library/node`)).toEqual([REGISTRIES[0]]);
  });
});

describe("the issue forms", () => {
  interface Form {
    name?: string;
    description?: string;
    body?: { type: string; id?: string; attributes?: { label?: string; value?: string } }[];
  }
  const findFaults = ({ name, description, body = [] }: Form) => [
    ...(name === undefined || description === undefined || body.length === 0 ? ["no name, description or body"] : []),
    ...body.flatMap(({ type, attributes }, index) =>
      (type === "markdown" ? attributes?.value : attributes?.label) === undefined ? [`${index}: ${type}`] : [],
    ),
  ];

  it("have what GitHub shows", () => {
    const folder = ".github/ISSUE_TEMPLATE";
    const forms = readdirSync(join(PROJECT_ROOT, folder)).filter((name) => name !== "config.yml");
    expect(forms).toHaveLength(2);
    for (const name of forms) expect([name, findFaults(parse(read(`${folder}/${name}`)) as Form)]).toEqual([name, []]);
    expect(findFaults({ name: "x", description: "y", body: [{ type: "input" }] })).toEqual(["0: input"]);
  });
});

describe("the notes of a release", () => {
  const notes = (tag: string) => runCommand(process.execPath, ["scripts/release-notes.mjs", tag], PROJECT_ROOT);

  it("are those of the changelog, where all name the version of the tag", async () => {
    const { exitCode, stdout } = await notes(`v${version}`);
    expect(exitCode).toBe(0);
    expect(read("CHANGELOG.md")).toContain(stdout.trim());
    expect(stdout).not.toContain("\n## ");
  });

  it("are a test that can fail: another tag is rejected in one line", async () => {
    expect(await notes("v9.9.9")).toMatchObject({
      exitCode: 1,
      stdout: "",
      stderr: `posthorn: the tag names 9.9.9, package.json ${version}\n`,
    });
  });
});
