import { code, findAll, make } from "./dom.ts";

interface Entry {
  item: HTMLElement;
  /** What stands in it, and with what its body refers to. */
  own: string;
  all: string;
  /** The names of the fields of its body. */
  fields: readonly string[];
  /** In the contents. */
  link?: HTMLElement | undefined;
}

/** When so few shapes are found, they are opened. */
const OPENED = 3;
const MAX_NAMES = 5;

/** The search field, and what it says of what it found. */
export function createSearch() {
  const label = "Search routes and fields";
  const hints = { autocomplete: "off", spellcheck: "false", placeholder: label, "aria-label": label };
  const field = make("input", { id: "search", type: "search", ...hints });
  const found = make("p", { id: "found", role: "status" });
  let entries: { operations: readonly Entry[]; shapes: readonly Entry[] } | undefined;
  let opened: HTMLDetailsElement[] = [];

  function filter(): void {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const { operations, shapes } = (entries ??= readEntries());
    const fits = ({ all }: Entry) => words.every((word) => all.includes(word));
    for (const shape of opened.splice(0)) shape.open = false;
    for (const entry of [...operations, ...shapes]) {
      entry.item.hidden = !fits(entry);
      if (entry.link !== undefined) entry.link.hidden = entry.item.hidden;
    }
    for (const entry of operations) showWhy(entry, words);
    for (const group of findAll("[data-group]")) {
      group.hidden = findAll("article, li, :scope > details", group).every((item) => item.hidden);
    }
    const isSearching = words.length > 0;
    for (const intro of findAll("#intro")) intro.hidden = isSearching;
    const [routes, left] = [operations.filter(fits), shapes.filter(fits)];
    if (isSearching && left.length <= OPENED) {
      opened = left.map(({ item }) => item as HTMLDetailsElement).filter((item) => !item.open);
      for (const shape of opened) shape.open = true;
    }
    found.textContent = isSearching ? `${count(routes, "route")}, ${count(left, "schema")}` : "";
    if (isSearching) scrollTo(0, 0);
  }

  field.addEventListener("input", filter);
  document.addEventListener("keydown", (event) => {
    const isWriting = event.target instanceof Element && /^(input|textarea|select)$/i.test(event.target.tagName);
    if (event.key === "/" && !isWriting) {
      event.preventDefault();
      field.focus();
    }
    if (event.key === "Escape" && event.target === field) {
      field.value = "";
      filter();
    }
  });
  return { field, found };
}

function readEntries(): { operations: readonly Entry[]; shapes: readonly Entry[] } {
  const links = new Map(
    findAll<HTMLAnchorElement>("nav li a").map((link) => [link.hash.slice(1), link.parentElement ?? link]),
  );
  const operations = findAll("article").map((item) => {
    const shapes = findAll(".body", item).flatMap((body) => [...findShapes(body)]);
    const names = shapes.flatMap((shape) => findAll("dt code", shape).map((name) => name.textContent ?? ""));
    const own = textOf(item);
    const all = `${own} ${shapes.map(textOf).join(" ")}`;
    return { item, own, all, fields: [...new Set(names)], link: links.get(item.id) };
  });
  const shapes = findAll("#schemas > details").map((item) => ({
    item,
    own: textOf(item),
    all: textOf(item),
    fields: [],
  }));
  return { operations, shapes };
}

/** The named shapes that a body uses, directly or through others. */
function findShapes(root: ParentNode, seen = new Set<HTMLElement>()): Set<HTMLElement> {
  for (const link of findAll<HTMLAnchorElement>('a[href^="#schema-"]', root)) {
    const shape = document.getElementById(link.hash.slice(1));
    if (shape === null || seen.has(shape)) continue;
    findShapes(shape, seen.add(shape));
  }
  return seen;
}

/** Says of a route whose own text has not all the words where they are. */
function showWhy({ item, own, fields }: Entry, words: readonly string[]): void {
  item.querySelector(".why")?.remove();
  const missing = words.filter((word) => !own.includes(word));
  if (missing.length === 0) return;
  const names = fields.filter((name) => missing.some((word) => name.toLowerCase().includes(word))).slice(0, MAX_NAMES);
  const what = names.flatMap((name) => [" ", code(name)]);
  item
    .querySelector(".route")
    ?.after(make("p", { class: "why" }, names.length > 0 ? "Found in the body:" : "Found in the body", ...what));
}

function textOf({ textContent }: HTMLElement): string {
  return (textContent ?? "").toLowerCase();
}

function count(many: readonly unknown[], one: string): string {
  return `${many.length} ${one}${many.length === 1 ? "" : "s"}`;
}
