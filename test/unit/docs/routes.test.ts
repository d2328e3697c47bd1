import { describe, expect, it } from "vitest";
import { ROUTE_MATRIX } from "../../security/route-matrix.ts";
import { splitCommands } from "../../support/docs/command-line.ts";
import { listPages, readBlocks, withoutBlocks, type Page } from "../../support/docs/markdown.ts";

/** Paths that begin like one of ours; others are those of a provider, a broker or a destination. */
const OURS = /^\/(?:api|webhook|validations|status|metrics|health|livez|readyz|docs|openapi\.json|catalog)(?:[/?]|$)/;
const METHODS = "GET|POST|PUT|PATCH|DELETE";
/** Of a source that takes other methods, and of handshakes: the matrix has one line for all of them. */
const ANY_METHOD = /^\/webhook\//;

/** Only there with `catalog_public: true`, and so in no document. */
const OPTIONAL = ["GET /catalog"];

const routes = [...Object.keys(ROUTE_MATRIX), ...OPTIONAL].map((route) => {
  const [method = "", path = ""] = route.split(" ");
  return { method, steps: path.split("/") };
});
const pages = listPages().filter(({ path }) => path !== "CHANGELOG.md");

interface Named {
  readonly page: string;
  readonly method: string;
  readonly path: string;
}

/** `GET`, `POST /api/v1/things/{id}` in running text. */
function listInText({ path: page, text }: Page): Named[] {
  const code = [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)].map(([, one = ""]) => one);
  return code.flatMap((one) => {
    const [, methods = "", path = ""] = new RegExp(`^((?:(?:${METHODS}),? )+)(/[^ ]*)`).exec(one) ?? [];
    const names = methods.split(/,? /).filter((name) => name !== "");
    return names.map((method) => ({ page, method, path }));
  });
}

function listInCurl({ path: page, text }: Page): Named[] {
  const blocks = readBlocks(text).filter(({ language }) => ["", "sh", "bash"].includes(language));
  const commands = blocks.flatMap((block) => splitCommands(block.text)).filter(([first]) => first === "curl");
  return commands.flatMap((words) => {
    const url = words.find((word) => /^(?:https?:\/\/|localhost|\$\{?[A-Z_]*URL\}?\/)/.test(word)) ?? "";
    const path = url.replace(/^(?:https?:\/\/)?[^/]+/, "");
    const given = words[words.findIndex((word) => word === "-X" || word === "--request") + 1];
    const hasGiven = words.includes("-X") || words.includes("--request");
    const hasBody = words.some((word) => /^(?:-d|--data.*|--json)$/.test(word));
    const method = hasGiven ? (given ?? "") : hasBody ? "POST" : "GET";
    return [{ page, method, path }];
  });
}

function isKnown({ method, path }: Pick<Named, "method" | "path">): boolean {
  const steps = (path.split("?")[0] ?? "").replace(/(?<=.)\/$/, "").split("/");
  return routes.some(
    (route) =>
      (route.method === method || ANY_METHOD.test(path)) &&
      (route.steps.length === steps.length || (ANY_METHOD.test(path) && steps.length > 3)) &&
      route.steps.every((step, index) => step.startsWith(":") || step === steps[index] || isPlaceholder(steps[index])),
  );
}

/** `…/pause` stands for what was named before it. */
function isPlaceholder(step = ""): boolean {
  return /[{…$]/.test(step);
}

const named = pages.flatMap((page) => [...listInText(page), ...listInCurl(page)]);

describe("the routes that pages name", () => {
  it("are there", () => {
    const ours = named.filter(({ path }) => OURS.test(path));
    expect(ours.length).toBeGreaterThan(50);
    const unknown = ours.filter((one) => !isKnown(one));
    expect(unknown.map(({ page, method, path }) => `${page}: ${method} ${path}`)).toEqual([]);
  });

  it("would be found to be missing", () => {
    expect(isKnown({ method: "GET", path: "/api/v1/events/{id}" })).toBe(true);
    expect(isKnown({ method: "GET", path: "/api/v1/events?status=FAILED" })).toBe(true);
    expect(isKnown({ method: "POST", path: "/webhook/orders/eu?dry=1" })).toBe(true);
    expect(isKnown({ method: "GET", path: "/api/v1/evnets" })).toBe(false);
    expect(isKnown({ method: "PUT", path: "/api/v1/events/{id}" })).toBe(false);
    const page = {
      path: "a.md",
      text: "```sh\ncurl -X PUT localhost:8080/validations/orders -d '{}'\n```\n`GET /status`",
    };
    expect([...listInText(page), ...listInCurl(page)].map(({ method, path }) => `${method} ${path}`)).toEqual([
      "GET /status",
      "PUT /validations/orders",
    ]);
  });
});
