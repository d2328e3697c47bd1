// What commands send and show is named in tables: each name must be one that the API's own document knows.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/commands.ts";
import { requestOf } from "../../src/cli/resources/add-actions.ts";
import type { Field } from "../../src/cli/resources/fields.ts";
import type { Action, Call, Resource } from "../../src/cli/resources/resource.ts";
import { readApiDocument, type ApiOperation, type Json } from "../support/api-document.ts";
import { PROJECT_ROOT } from "../support/sample-checkout.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const FOLDER = join(PROJECT_ROOT, "src/cli/resources");

let gateway: TestGateway;
let json: Json;
let operations: readonly ApiOperation[];
let resources: [file: string, resource: Resource][];

beforeAll(async () => {
  gateway = await startTestGateway();
  json = (await gateway.get("/openapi.json")).json;
  ({ operations } = readApiDocument(json));
  const modules = readdirSync(FOLDER).map(async (file): Promise<[string, Partial<{ RESOURCE: Resource }>]> => [
    file,
    (await import(join(FOLDER, file))) as { RESOURCE?: Resource },
  ]);
  resources = (await Promise.all(modules)).flatMap(([file, { RESOURCE }]) => (RESOURCE ? [[file, RESOURCE]] : []));
});
afterAll(() => gateway.stop());

const CALL: Call = { args: ["first", "second"], flags: {}, body: {}, query: {}, headers: {} };

function findOperation(resource: Resource, name: string, act: Action): ApiOperation | undefined {
  const { method, path } = requestOf(resource, name, act, CALL);
  const fits = (template: string) => new RegExp(`^${template.replaceAll(/\{\w+\}/g, "(first|second)")}$`).test(path);
  return operations.find((one) => one.method === method && fits(one.path));
}

/** Whether a value of the schema may have such a member. */
function hasMember(schema: Json | undefined, [name, ...rest]: readonly string[]): boolean {
  if (schema === undefined) return false;
  if (name === undefined) return true;
  const { $ref: ref, anyOf, allOf, properties, patternProperties } = schema as Record<string, unknown>;
  if (typeof ref === "string") return hasMember(resolve(ref), [name, ...rest]);
  const branches = [...((anyOf ?? []) as Json[]), ...((allOf ?? []) as Json[])];
  if (branches.some((branch) => hasMember(branch, [name, ...rest]))) return true;
  if (patternProperties !== undefined) return true;
  return hasMember((properties as Record<string, Json> | undefined)?.[name], rest);
}

function resolve(ref: string): Json | undefined {
  return ref
    .slice(2)
    .split("/")
    .reduce<unknown>((value, step) => (value as Json | undefined)?.[step], json) as Json;
}

/** Of the answers that are no errors; of a list, its items. */
function answersOf({ responses }: ApiOperation, isList: boolean): Json[] {
  const answers = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  const schemas = answers.flatMap(([, { content }]) => Object.values(content ?? {}).map(({ schema }) => schema));
  return isList ? schemas.flatMap((schema) => itemsOf(schema)) : schemas;
}

function itemsOf(schema: Json): Json[] {
  const { $ref: ref, properties } = schema as { $ref?: string; properties?: { data?: { items?: Json } } };
  if (ref !== undefined) return itemsOf(resolve(ref) ?? {});
  const items = properties?.data?.items;
  return items === undefined ? [] : [items];
}

function unknownMembers(fields: readonly Field[], schemas: readonly Json[]): string[] {
  const members = fields.flatMap(([, names]) => names.split(" "));
  return members.filter((path) => !schemas.some((schema) => hasMember(schema, path.split("."))));
}

function acts(): [what: string, resource: Resource, name: string, act: Action][] {
  return resources.flatMap(([file, resource]) =>
    Object.entries(resource.actions).map(([name, act]): [string, Resource, string, Action] => [
      `${file} ${name}`,
      resource,
      name,
      act,
    ]),
  );
}

describe("the commands of resources", () => {
  it("are all in the list of commands", async () => {
    const filled = COMMANDS.map(async ({ name, fill }) => {
      const command = new Command(name);
      await fill?.(command);
      return command;
    });
    const groups = (await Promise.all(filled)).filter(({ commands }) => commands.length > 0);
    expect(groups).toHaveLength(resources.length);
    expect(resources.length).toBeGreaterThan(10);
  });

  it("ask for what the API has", () => {
    const nowhere = acts().filter(([, resource, name, act]) => findOperation(resource, name, act) === undefined);
    expect(nowhere.map(([what]) => what)).toEqual([]);
  });

  it("set only what the API takes", () => {
    const unknown = acts().flatMap(([what, resource, name, act]) => {
      const operation = findOperation(resource, name, act);
      const parameters = operation?.parameters.map((one) => one.name.toLowerCase()) ?? [];
      const isQuery = operation?.method === "GET" || operation?.method === "DELETE";
      return (act.flags ?? []).flatMap(({ field, place = isQuery ? "query" : "body" }) => {
        if (place === "here" || place === "file" || NOT_NAMED.has(`${what} ${field}`)) return [];
        const isFilter = IN_FILTER.has(what) && !["confirm", "all", "plan"].includes(field);
        const path = isFilter ? `filter.${field}` : field;
        const isKnown =
          place === "body" ? hasMember(operation?.body?.schema, path.split(".")) : parameters.includes(field);
        return isKnown || field === "content-type" ? [] : [`${what}: ${place} ${field}`];
      });
    });
    expect(unknown).toEqual([]);
  });

  it("show only what the API answers", () => {
    const unknown = acts().flatMap(([what, resource, name, act]) => {
      const operation = findOperation(resource, name, act);
      const isList = name === "list" || act.columns !== undefined;
      const fields = isList
        ? (act.columns ?? resource.columns)
        : ["show", "create"].includes(name)
          ? resource.facts
          : [];
      if (operation === undefined || (!isList && act.print !== undefined)) return [];
      const schemas = [...answersOf(operation, isList), ...(isList ? [] : answersOfAll(resource))];
      return unknownMembers(fields ?? [], schemas).map((path) => `${what}: ${path}`);
    });
    expect(unknown).toEqual([]);
  });

  it("say what each flag is for", () => {
    const silent = acts().flatMap(([what, , , act]) =>
      (act.flags ?? [])
        .flatMap(({ options }) => options)
        .filter(({ description }) => description.trim() === "")
        .map(({ flags }) => `${what} ${flags}`),
    );
    expect(silent).toEqual([]);
  });

  it("would be found out if they named something else", () => {
    const [, resource] = resources.find(([file]) => file === "targets.ts") ?? [];
    const operation = resource && findOperation(resource, "list", { help: "" });
    expect(operation?.name).toBe("GET /api/v1/targets");
    const schemas = operation === undefined ? [] : answersOf(operation, true);
    expect(unknownMembers([["MODE", "mode modus"]], schemas)).toEqual(["modus"]);
  });
});

/** Some members are told only when something was made or taken in again. */
function answersOfAll(resource: Resource): Json[] {
  return Object.entries(resource.actions).flatMap(([name, act]) => {
    const operation = findOperation(resource, name, act);
    return operation === undefined ? [] : answersOf(operation, false);
  });
}

/** Put together to another member of the body by the command; or told by the document in words only. */
const NOT_NAMED = new Set([
  "targets.ts create idempotency-key",
  "targets.ts update if-match",
  "subscriptions.ts create retry_delays",
  "subscriptions.ts update retry_delays",
  "sources.ts create token",
  "sources.ts update token",
]);
/** Their flags become the members of `filter`. */
const IN_FILTER = new Set(["dead-letters.ts replay", "dead-letters.ts purge"]);
