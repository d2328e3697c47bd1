import { Ajv } from "ajv";
import { Type, type TSchema } from "typebox";
import { Value } from "typebox/value";
import { describe, expect, it } from "vitest";
import { describeSchemaError, type SchemaError, oneOf, orNull } from "../../../src/model/shape.ts";

const COLOURS = oneOf(["red", "green"]);

const CASES: readonly [string, TSchema, unknown, string][] = [
  ["a choice", COLOURS, "blue", "must be one of red, green"],
  ["a choice or nothing", orNull(COLOURS), "blue", "must be one of red, green, or null"],
  ["an enum", Type.Enum(["red", "green"]), "blue", "must be one of red, green"],
  ["one constant", Type.Literal("red"), "blue", "must be red"],
  [
    "a number or a word",
    Type.Union([Type.Integer(), Type.Literal("all")]),
    "none",
    "must be one of all, or a value of the type integer",
  ],
];

function errorsOfAjv(schema: TSchema, value: unknown): readonly SchemaError[] {
  const validate = new Ajv({ strict: false }).compile(schema);
  validate(value);
  return validate.errors ?? [];
}

describe("what a value must be", () => {
  it.each(CASES)("of %s is said with all choices", (_, schema, value, text) => {
    for (const errors of [errorsOfAjv(schema, value), Value.Errors(schema, value)]) {
      expect(describeSchemaError(errors[0] as SchemaError, errors)).toBe(text);
    }
  });

  it("is left as it is where it is no choice", () => {
    const errors = Value.Errors(Type.Object({ a: Type.Integer(), b: COLOURS }), { a: "x", b: "blue" });
    const [first] = errors.filter(({ instancePath }) => instancePath === "/a");
    expect(describeSchemaError(first as SchemaError, errors)).toBe("must be integer");
    const pattern = Type.Union([Type.Literal("n8n"), Type.String({ pattern: "^[a-z]+$" })]);
    const [one] = errorsOfAjv(pattern, "7");
    expect(describeSchemaError(one as SchemaError, errorsOfAjv(pattern, "7"))).toBe(one?.message);
  });
});
