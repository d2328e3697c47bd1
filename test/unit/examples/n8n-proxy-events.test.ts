import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { GATEWAY_EVENT_TYPES } from "../../../src/model/pattern.ts";
import { asksFor } from "../../../src/accept/router.ts";
import { EXAMPLE_FOLDER } from "../../support/n8n-example.ts";

interface Example {
  subscriptions: { name: string; events: string[]; mode?: "queue" | "forward" }[];
}

describe.each(["posthorn.yaml", "vps.yaml", "home.yaml"])("the subscription for n8n in %s", (file) => {
  const { subscriptions } = parse(readFileSync(join(EXAMPLE_FOLDER, file), "utf8")) as Example;
  const n8n = subscriptions.find(({ name }) => name === "n8n") ?? { events: [] };

  it("asks for the webhooks of every source, whatever is in its name", () => {
    const types = ["webhook.orders", "webhook.newOrder", "webhook.new.order"];
    expect(types.filter((type) => !asksFor(n8n, type))).toEqual([]);
  });

  it("asks for no event of the gateway itself", () => {
    expect(GATEWAY_EVENT_TYPES.filter((type) => asksFor(n8n, type))).toEqual([]);
  });

  it("would ask for some of them without forwarding: the control", () => {
    expect(asksFor({ ...n8n, mode: "queue" }, "webhook.suspended")).toBe(true);
  });
});
