import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { followPage } from "../../support/docs/follow-page.ts";
import { listPages, readPage } from "../../support/docs/markdown.ts";
import { listUnmarked, readSteps, type PageStep } from "../../support/docs/page-steps.ts";
import { hasTerminals } from "../../support/docs/page-terminal.ts";
import { useRabbitMq } from "../../support/services/shared.ts";
import { skipWithoutService } from "../../support/skip.ts";

/** Commands of a page that are not run here, by how they begin, each with the reason. */
const NOT_RUN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "docs/how-to/production.md": { "sudo cp": "makes a service of the machine itself" },
  "docs/how-to/sizing.md": {
    "npm run bench": "measures for minutes, and wants a machine that does nothing else",
    "posthorn bench": "the same, on a disk of your choice",
  },
  "docs/how-to/upgrade.md": { "npm install --global": "changes the machine, and wants a release that is published" },
};

/** Pages that others follow. */
const FOLLOWED_ELSEWHERE: Readonly<Record<string, string>> = {
  "docs/how-to/container.md":
    "needs Docker: test/proofs/heavy/release/image.test.ts builds the image and runs it without, test/unit/deploy/ " +
    "compares what the Compose files name",
  "docs/how-to/kubernetes.md":
    "needs a cluster: test/proofs/heavy/release/chart.test.ts renders and validates the chart",
  "docs/how-to/smartsheet.md":
    "needs an account: test/proofs/heavy/smartsheet-adapter.test.ts has a server that stands in",
  "docs/how-to/tracing.md": "test/e2e/spans.test.ts loads its file, with the SDK that npm brings",
};

const RABBITMQ = "rabbitmq";

/** What is not on this machine, and what is used instead. */
const STAND_INS: Readonly<Record<string, readonly (readonly [text: string, instead: string, reason: string])[]>> = {
  "docs/how-to/two-machines.md": [
    ["amqp://posthorn:password@rabbit.example.com:5672/", RABBITMQ, "the broker of the tests"],
  ],
  "docs/how-to/n8n.md": [
    ["npx n8n", "posthorn sink --port 5678", "n8n is 3 GB to install; `npm run proofs:n8n` has a real one"],
  ],
};

const howTo = listPages().flatMap(({ path }) => (path.startsWith("docs/how-to/") ? path : []));
const pages = ["docs/start/tour.md", ...howTo.filter((path) => !(path in FOLLOWED_ELSEWHERE))];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "posthorn-how-to-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("a reader who follows", () => {
  it.for(pages)("%s gets to its end", async (path, context) => {
    if (!hasTerminals()) return skipWithoutService(context, "script(1)");
    const standIns: [string, string][] = [];
    for (const [text, instead] of STAND_INS[path] ?? []) {
      standIns.push([text, instead === RABBITMQ ? await useRabbitMq(context) : instead]);
    }
    const steps: PageStep[] = [];
    const { text } = readPage(path);
    await followPage(text, { folder, standIns, onStep: (step) => steps.push(step) });
    expect(steps).toHaveLength(readSteps(text).length);
  });

  it.each(pages)("%s runs all of its commands, or there is a reason", (path) => {
    const reasons = Object.keys(NOT_RUN[path] ?? {});
    const { text } = readPage(path);
    const unmarked = listUnmarked(text).filter((block) => !reasons.some((start) => block.text.startsWith(start)));
    expect(unmarked.map((block) => `line ${block.line}: ${block.text}`)).toEqual([]);
    expect(readSteps(text).length).toBeGreaterThan(0);
  });

  it("a page that is wrong does not get to its end", async (context) => {
    if (!hasTerminals()) return skipWithoutService(context, "script(1)");
    const follow = (page: string) => followPage(page, { folder });
    await follow('```sh run\nexport A=b\n```\n```sh run\necho "$A" c d\n```\n```text\nb … d\n```\n');
    await expect(follow("```sh run\nfalse\necho so\n```\n")).rejects.toThrow("line 1: a command failed");
    await expect(follow("```sh run\nposthorn evnets\n```\n")).rejects.toThrow("unknown command");
    await expect(follow("```sh start terminal-1\nposthorn sink --prot 9000\n```\n")).rejects.toThrow("ended before");
  });
});
