/** Values as they were given, each with the place it came from, so that an error can point at it. */

export type Located = LocatedScalar | LocatedList | LocatedMap;

export interface LocatedScalar {
  kind: "scalar";
  /** `posthorn.yaml:12:5`, `POSTHORN_PORT` or `--port`. */
  place: string;
  value: unknown;
  /** True when the value is text whose type only the schema knows: from the environment, a flag or `${NAME}`. */
  isText: boolean;
  /** What is wrong with it was reported already. */
  isFaulty?: boolean;
}

export interface LocatedList {
  kind: "list";
  place: string;
  items: readonly Located[];
}

export interface LocatedMap {
  kind: "map";
  place: string;
  entries: readonly LocatedEntry[];
}

export interface LocatedEntry {
  key: string;
  keyPlace: string;
  value: Located;
}

export interface Problem {
  place: string;
  /** Empty where the place says it all. */
  path: string;
  message: string;
}

export type Report = (problem: Problem) => void;

export function formatProblem({ place, path, message }: Problem): string {
  return `${path === "" ? place : `${place} ${path}`}: ${message}`;
}

/** The place of what lies at `keys`, or of the innermost thing around it that was given. */
export function findPlace(root: Located | undefined, keys: readonly (string | number)[]): string | undefined {
  let node = root;
  let place = root?.place;
  for (const key of keys) {
    if (node?.kind === "list") node = node.items[Number(key)];
    else if (node?.kind === "map") node = node.entries.find((entry) => entry.key === key)?.value;
    else return place;
    place = node?.place ?? place;
  }
  return place;
}
