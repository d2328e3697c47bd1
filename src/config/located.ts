/** Given values, each with the place that it came from, so that an error can point at it. */

export type Located = LocatedScalar | LocatedList | LocatedMap;

export interface LocatedScalar {
  kind: "scalar";
  /** `posthorn.yaml:12:5`, `POSTHORN_PORT` or `--port`. */
  place: string;
  value: unknown;
  /** True when the value is text whose type only the schema knows: from the environment, a flag or `${NAME}`. */
  isText: boolean;
  /** Its problem was already reported. */
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
  /** Empty when the place is enough. */
  path: string;
  message: string;
}

export type Report = (problem: Problem) => void;

export function formatProblem({ place, path, message }: Problem): string {
  return `${path === "" ? place : `${place} ${path}`}: ${message}`;
}

/** The place of the value at `keys`, or of the innermost given value around it. */
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
