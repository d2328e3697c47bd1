/** What of the JSON Schema Test Suite is refused or answered in another way, by name and with the reason. */
export const SUITE_DRAFTS = ["draft4", "draft6", "draft7", "draft2019-09", "draft2020-12"] as const;
export type SuiteDraft = (typeof SUITE_DRAFTS)[number];

export interface Exceptions {
  /** `file: group`. */
  readonly refused: ReadonlyMap<string, Reason>;
  /** `file: group: test`. */
  readonly different: ReadonlyMap<string, Reason>;
}

export type Reason = string;

const REMOTE = "it refers to another document, and nothing is ever fetched";
const VOCABULARY = "it has a meta-schema of its own, and only those of the drafts are known";
const AJV = "ajv does not follow which items others have looked at through contains, nested lists and bare conditions";

const REMOTE_IN_ALL = [
  "remote ref",
  "fragment within remote ref",
  "ref within remote ref",
  "base URI change",
  "base URI change - change folder",
  "base URI change - change folder in subschema",
  "root ref in remote ref",
  "Location-independent identifier in remote ref",
];
const REMOTE_SINCE_6 = [...REMOTE_IN_ALL, "retrieved nested refs resolve relative to their URI not $id"];
const REMOTE_6_AND_7 = [
  ...REMOTE_SINCE_6,
  "remote ref with ref to definitions",
  "$ref to $ref finds location-independent $id",
];
const REMOTE_SINCE_2019 = [
  ...REMOTE_SINCE_6,
  "anchor within remote ref",
  "remote ref with ref to defs",
  "remote HTTP ref with different $id",
  "remote HTTP ref with different URN $id",
  "remote HTTP ref with nested absolute ref",
  "$ref to $ref finds detached $anchor",
];
const VOCABULARIES = named(VOCABULARY, "vocabulary", [
  "schema that uses custom metaschema with with no validation vocabulary",
  "ignore unrecognized optional vocabulary",
]);
const ITEMS_SINCE_2019 = named(AJV, "unevaluatedItems", [
  "unevaluatedItems with nested items: with no additional items",
  "unevaluatedItems with nested items: with invalid additional item",
  "unevaluatedItems can see annotations from if without then and else: valid in case if is evaluated",
]);

export const EXCEPTIONS: Readonly<Record<SuiteDraft, Exceptions>> = {
  draft4: { refused: new Map(named(REMOTE, "refRemote", REMOTE_IN_ALL)), different: new Map() },
  draft6: { refused: new Map(named(REMOTE, "refRemote", REMOTE_6_AND_7)), different: new Map() },
  draft7: { refused: new Map(named(REMOTE, "refRemote", REMOTE_6_AND_7)), different: new Map() },
  "draft2019-09": {
    refused: new Map([...named(REMOTE, "refRemote", REMOTE_SINCE_2019), ...VOCABULARIES]),
    different: new Map(ITEMS_SINCE_2019),
  },
  "draft2020-12": {
    refused: new Map([
      ...named(REMOTE, "refRemote", REMOTE_SINCE_2019),
      ...named(REMOTE, "dynamicRef", [
        "strict-tree schema, guards against misspelled properties",
        "tests for implementation dynamic anchor and reference link",
        "$ref and $dynamicAnchor are independent of order - $defs first",
        "$ref and $dynamicAnchor are independent of order - $ref first",
        "$ref to $dynamicRef finds detached $dynamicAnchor",
      ]),
      ...VOCABULARIES,
    ]),
    different: new Map([
      ...ITEMS_SINCE_2019,
      ...named(AJV, "unevaluatedItems", [
        "unevaluatedItems depends on adjacent contains: contains passes, second item is not evaluated",
        "unevaluatedItems depends on multiple nested contains: 7 not evaluated, fails unevaluatedItems",
        "unevaluatedItems and contains interact to control item dependency relationship: only b's are invalid",
        "unevaluatedItems and contains interact to control item dependency relationship: only c's are invalid",
        "unevaluatedItems and contains interact to control item dependency relationship: only b's and c's are invalid",
        "unevaluatedItems and contains interact to control item dependency relationship: only a's and c's are invalid",
        "unevaluatedItems with minContains = 0: all items evaluated by contains",
      ]),
    ]),
  },
};

function named(reason: Reason, file: string, names: readonly string[]): [string, Reason][] {
  return names.map((name) => [`${file}: ${name}`, reason]);
}
