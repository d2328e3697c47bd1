import { Type, type TSchema } from "typebox";
import type { ErrorCode } from "../../model/errors.ts";
import {
  ETAG,
  IDEMPOTENCY_KEY,
  IF_MATCH,
  closed,
  named,
  oneOf,
  page,
  text,
  type AnswerDocs,
  type AnswerOf,
  type OperationDocs,
} from "./operation-docs.ts";
import { exampleOf } from "./shown.ts";

/** What differs for one of the seven routes from the docs that all resources share. */
type Own = Partial<Omit<OperationDocs, "answer">> & { answer?: Partial<AnswerDocs> };

export interface ResourceDocs {
  /** The same as for `addResourceRoutes`. */
  path: string;
  key: Readonly<Record<string, string>>;
  /** The shape of the resource in answers; its example is derived from it. */
  schema: TSchema;
  example?: object;
  /** The answer to create, if it shows more. */
  made?: Partial<AnswerDocs>;
  /** The errors of all changes, in addition to `precondition_failed`. */
  refusals: readonly ErrorCode[];
  list: Own;
  make: Own;
  read: Own;
  replace: Own;
  /** A body that changes something, if the body of `replace` does not. */
  plan?: object;
  change: Own;
  remove: Omit<Own, "answer"> & { answer?: AnswerDocs };
}

const Plan = named(
  "Plan",
  closed({
    act: oneOf(["update", "create", "none"], "What PUT would do"),
    changes: Type.Array(
      closed({
        field: text("description"),
        before: Type.Unknown({ examples: [null], description: "Null when the field or the object would be new" }),
        after: Type.Unknown({ examples: ["orders of the shop"] }),
      }),
      { description: "The fields that would change; for a new object, all fields that are set" },
    ),
    secrets_changed: Type.Boolean(),
  }),
);
export type Plan = AnswerOf<typeof Plan>;

/** The routes of `addResourceRoutes`. */
export function resourceDocs(of: ResourceDocs): Record<string, OperationDocs> {
  const { path, key: params, schema, example = exampleOf(schema), refusals } = of;
  const [key = ""] = Object.keys(params);
  const one = `${path}/:${key}`;
  const shown = { schema, example, headers: ETAG };
  const made = { status: 201, description: "Created", schema, headers: ETAG, ...of.made };
  const changing = { params, headers: IF_MATCH, errors: [...refusals, "precondition_failed"] as const };
  const gone = {
    status: 200,
    description: "Deleted",
    schema: closed({ [key]: Type.String() }),
    example: of.remove.params ?? params,
  };
  const list = { ...page(schema, ""), example: { data: [example], next_cursor: null } };
  return {
    [`GET ${path}`]: join({ query: { limit: 20 }, answer: list }, of.list),
    [`POST ${path}`]: join(
      { headers: IDEMPOTENCY_KEY, answer: made, errors: ["conflict", "idempotency_key_reused"] },
      of.make,
    ),
    [`GET ${one}`]: join({ params, answer: { ...shown, description: "" } }, of.read),
    [`PUT ${one}`]: join(
      { ...changing, answer: { ...shown, description: "Replaced" }, otherAnswers: [made] },
      of.replace,
    ),
    [`POST ${one}/plan`]: {
      description:
        "Checks the same as PUT, but saves nothing. For secrets, the answer says only whether they would change.",
      params,
      request: of.plan ?? of.replace.request,
      answer: { description: "The changes that PUT with this body would make", schema: Plan },
      errors: [...refusals, ...(of.replace.errors ?? [])],
    },
    [`PATCH ${one}`]: join({ ...changing, answer: { ...shown, description: "Updated" } }, of.change),
    [`DELETE ${one}`]: join({ ...changing, answer: of.remove.answer ?? gone }, of.remove),
  };
}

function join(usual: OperationDocs, { answer, errors = [], ...own }: Own): OperationDocs {
  return { ...usual, ...own, answer: { ...usual.answer, ...answer }, errors: [...(usual.errors ?? []), ...errors] };
}
