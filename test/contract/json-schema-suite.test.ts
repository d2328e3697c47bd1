import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { compilePayloadSchema, type PayloadSchema } from "../../src/sandbox/schema/payload-schema.ts";
import { SchemaFault } from "../../src/sandbox/schema/faults.ts";
import { findJsonSchemaSuite } from "../support/json-schema-suite.ts";
import { report } from "../support/report.ts";
import { EXCEPTIONS, SUITE_DRAFTS, type SuiteDraft } from "./json-schema-suite-exceptions.ts";

interface Group {
  description: string;
  schema: unknown;
  tests: readonly { description: string; data: unknown; valid: boolean }[];
}

const META_SCHEMAS: Readonly<Record<SuiteDraft, string>> = {
  draft4: "http://json-schema.org/draft-04/schema#",
  draft6: "http://json-schema.org/draft-06/schema#",
  draft7: "http://json-schema.org/draft-07/schema#",
  "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
  "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
};

function readGroups(suite: string, draft: SuiteDraft): [string, Group][] {
  const folder = join(suite, "tests", draft);
  const files = readdirSync(folder).filter((file) => file.endsWith(".json"));
  return files.flatMap((file) => {
    const groups = JSON.parse(readFileSync(join(folder, file), "utf8")) as Group[];
    return groups.map((group): [string, Group] => [`${file.slice(0, -5)}: ${group.description}`, group]);
  });
}

/** The suite takes a format for a remark; here that is a choice. */
function compile(draft: SuiteDraft, { schema }: Group): PayloadSchema | undefined {
  const whole =
    typeof schema === "object" ? { $schema: META_SCHEMAS[draft], "x-format": "annotation", ...schema } : schema;
  try {
    return compilePayloadSchema(JSON.stringify(whole), { trusted: false });
  } catch (error) {
    if (error instanceof SchemaFault) return undefined;
    throw error;
  }
}

describe.each(SUITE_DRAFTS)(
  "the required tests of the JSON Schema Test Suite for %s",
  { timeout: 300_000 },
  (draft) => {
    it("pass, but for exceptions that are known by name, and those do not", (context) => {
      const { refused, different } = EXCEPTIONS[draft];
      const found: string[] = [];
      const names = new Set<string>();
      let tests = 0;
      let passed = 0;
      for (const [name, group] of readGroups(findJsonSchemaSuite(context), draft)) {
        for (const each of [name, ...group.tests.map(({ description }) => `${name}: ${description}`)]) names.add(each);
        const schema = compile(draft, group);
        tests += group.tests.length;
        if (schema === undefined) {
          found.push(name);
          continue;
        }
        for (const { description, data, valid } of group.tests) {
          if ((schema.check(data, 1e7) === undefined) === valid) passed++;
          else found.push(`${name}: ${description}`);
        }
      }
      report(`JSON Schema Test Suite, ${draft}: ${passed} of ${tests} required tests`);
      // One that passes by now is no exception any more; an older suite does not have them all.
      const expected = [...refused.keys(), ...different.keys()].filter((name) => names.has(name));
      expect(found.sort()).toEqual(expected.sort());
    });
  },
);
