import {
  findDraft,
  findMetaDraft,
  idKeywordOf,
  isBefore2019,
  KEYWORDS,
  metaSchemasOf,
  SCHEMA_LISTS,
  SCHEMA_MAPS,
  SCHEMA_SINGLES,
  type Draft,
  type Json,
} from "./drafts.ts";
import { SchemaFault } from "./faults.ts";

/** Finds the schemas of a document with their names, and resolves references. */

export interface SchemaPlace {
  readonly node: unknown;
  /** JSON Pointer from the root of the document. */
  readonly pointer: string;
  readonly document: SchemaDocument;
  readonly resource: Resource;
}

interface SchemaDocument {
  readonly draft: Draft;
  readonly places: ReadonlyMap<string, SchemaPlace>;
  /** The targets of references in it, including possible ones at run time. */
  readonly referenced: Set<SchemaPlace>;
  /** True when it uses `unevaluatedProperties` or `unevaluatedItems`. */
  tracksFields: boolean;
}

/** A schema with its own URI, and all schemas in it without one. */
export interface Resource {
  readonly uri: string;
  readonly pointer: string;
  readonly anchors: Map<string, SchemaPlace>;
  /** The dynamic anchors, which an outer resource may override. */
  readonly dynamicAnchors: Set<string>;
}

export const REFERENCES = ["$ref", "$dynamicRef", "$recursiveRef"] as const;
type ReferenceKeyword = (typeof REFERENCES)[number];

/** The anchor of `$recursiveAnchor`, which has no name. */
const RECURSIVE = "";
/** The URI of a document that has none. */
const BASE_URI = "schema://posthorn/";

export function findPlaces(root: unknown, draft: Draft, maxSubschemas: number) {
  const resources = new Map<string, Resource>();
  const metaResources = new Map<string, Resource>();
  const places = new Map<Resource, SchemaDocument>();
  const own = readDocument(root, draft, resources, maxSubschemas);

  function readDocument(
    document: unknown,
    documentDraft: Draft,
    known: Map<string, Resource>,
    limit: number,
  ): { document: SchemaDocument; root: SchemaPlace } {
    const found = new Map<string, SchemaPlace>();
    const self: SchemaDocument = { draft: documentDraft, places: found, referenced: new Set(), tracksFields: false };
    const idKeyword = idKeywordOf(documentDraft);
    const isOld = isBefore2019(documentDraft);

    function addResource(uri: string, pointer: string): Resource {
      if (known.has(uri)) throw new SchemaFault(`holds the ${idKeyword} ${JSON.stringify(uri)} twice`);
      const resource: Resource = { uri, pointer, anchors: new Map(), dynamicAnchors: new Set() };
      known.set(uri, resource);
      places.set(resource, self);
      return resource;
    }

    function visit(node: unknown, pointer: string, outer: Resource | undefined): void {
      if (found.size >= limit) throw new SchemaFault(`has more than ${limit} subschemas`);
      let resource = outer;
      let anchor: string | undefined;
      const id = isJson(node) && !(isOld && node["$ref"] !== undefined) ? node[idKeyword] : undefined;
      if (typeof id === "string") {
        const { uri, fragment } = resolveUri(id, outer?.uri ?? BASE_URI, `${pointer}/${idKeyword}`);
        anchor = isOld && fragment !== "" ? fragment : undefined;
        if (outer === undefined || uri !== outer.uri) resource = addResource(uri, pointer);
      }
      resource ??= addResource(BASE_URI, pointer);
      const place: SchemaPlace = { node, pointer, document: self, resource };
      found.set(pointer, place);
      if (anchor !== undefined) resource.anchors.set(anchor, place);
      if (!isJson(node)) return;
      if (node["$async"] !== undefined) throw new SchemaFault("must not contain $async");
      if (outer !== undefined && resource !== outer) rejectOtherDraft(node, pointer);
      if (!isOld) addAnchors(node, place);
      for (const [keyword, value] of Object.entries(node)) {
        self.tracksFields ||= keyword === "unevaluatedProperties";
        const at = `${pointer}/${escapeStep(keyword)}`;
        if (SCHEMA_LISTS.has(keyword) && Array.isArray(value)) {
          for (const [index, inner] of value.entries()) visit(inner, `${at}/${index}`, resource);
        } else if (SCHEMA_SINGLES.has(keyword)) {
          visit(value, at, resource);
        } else if (SCHEMA_MAPS.has(keyword) && isJson(value)) {
          for (const [name, inner] of Object.entries(value)) visit(inner, `${at}/${escapeStep(name)}`, resource);
        }
      }
    }

    function rejectOtherDraft(node: Json, pointer: string): void {
      if (node["$schema"] === undefined || findDraft(node["$schema"]) === documentDraft) return;
      throw new SchemaFault(
        `is of draft ${documentDraft} but contains a schema of another draft at ${pointer}/$schema`,
      );
    }

    visit(document, "", undefined);
    return { document: self, root: found.get("") as SchemaPlace };
  }

  function addAnchors(node: Json, place: SchemaPlace): void {
    const { resource } = place;
    const { $anchor, $dynamicAnchor } = node;
    if (typeof $anchor === "string") resource.anchors.set($anchor, place);
    if (typeof $dynamicAnchor === "string") {
      resource.anchors.set($dynamicAnchor, place);
      resource.dynamicAnchors.add($dynamicAnchor);
    }
    if (node["$recursiveAnchor"] === true && place.pointer === resource.pointer) {
      resource.anchors.set(RECURSIVE, place);
      resource.dynamicAnchors.add(RECURSIVE);
    }
  }

  function findResource(uri: string): Resource | undefined {
    const known = resources.get(uri) ?? metaResources.get(uri);
    if (known !== undefined) return known;
    const metaDraft = findMetaDraft(uri);
    // In draft 04 exclusiveMinimum is a boolean, in all others a number.
    if (metaDraft === undefined || (metaDraft === "04") !== (draft === "04")) return undefined;
    const documents = metaSchemasOf(metaDraft).map((document) =>
      readDocument(document, metaDraft, metaResources, Number.POSITIVE_INFINITY),
    );
    for (const { document } of documents) addReferenced(document);
    return metaResources.get(uri);
  }

  /**
   * What a reference at this place refers to. With a `dynamicName` it means the outermost resource with an anchor of that
   * name, otherwise always this place. Throws `SchemaFault`.
   */
  function resolve(from: SchemaPlace, keyword: ReferenceKeyword) {
    const { node, pointer, document } = from;
    const text = isJson(node) && KEYWORDS[document.draft].has(keyword) ? node[keyword] : undefined;
    if (typeof text !== "string") return undefined;
    const at = `${pointer}/${keyword}`;
    const { uri, fragment } = resolveUri(text, from.resource.uri, at);
    const resource = findResource(uri);
    if (resource === undefined) {
      throw new SchemaFault(
        `refers to ${JSON.stringify(text)} at ${at}; only places in the schema itself and the meta-schema of its ` +
          "draft are allowed",
      );
    }
    const to = findPlace(resource, fragment);
    if (to === undefined) throw new SchemaFault(`refers to ${JSON.stringify(text)} at ${at}, where no schema is`);
    const name = keyword === "$recursiveRef" ? RECURSIVE : keyword === "$dynamicRef" ? fragment : undefined;
    const isDynamic =
      name !== undefined && to.resource.dynamicAnchors.has(name) && to.resource.anchors.get(name) === to;
    return { to, dynamicName: isDynamic ? name : undefined };
  }

  function findPlace(resource: Resource, fragment: string): SchemaPlace | undefined {
    if (fragment !== "" && !fragment.startsWith("/")) return resource.anchors.get(fragment);
    return places.get(resource)?.places.get(resource.pointer + fragment);
  }

  function addReferenced({ places: all, referenced, tracksFields }: SchemaDocument): void {
    for (const place of all.values()) {
      for (const keyword of REFERENCES) {
        const reference = resolve(place, keyword);
        if (reference === undefined) continue;
        reference.to.document.referenced.add(reference.to);
      }
      // Fields that a condition evaluated count only if it holds: so it is applied twice, but written once.
      const condition = tracksFields ? all.get(`${place.pointer}/if`) : undefined;
      if (condition !== undefined) referenced.add(condition);
      for (const name of place.resource.dynamicAnchors) {
        const anchored = place.resource.anchors.get(name);
        if (anchored !== undefined) referenced.add(anchored);
      }
    }
  }

  addReferenced(own.document);
  return { root: own.root, resolve };
}

function resolveUri(text: string, base: string, at: string): { uri: string; fragment: string } {
  let url: URL;
  try {
    url = new URL(text, base);
  } catch {
    throw new SchemaFault(`has ${JSON.stringify(text)} at ${at}, which is not a valid URI in ${JSON.stringify(base)}`);
  }
  const fragment = decode(url.hash.slice(1));
  url.hash = "";
  return { uri: url.href, fragment };
}

export function escapeStep(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

export function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function decode(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}
