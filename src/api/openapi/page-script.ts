import { TRY_SCRIPT } from "./page-try-script.ts";

/** Runs in the reader's browser. The page works without it, but has no search and no buttons. */
export const PAGE_SCRIPT = `"use strict";
const find = (selector, root = document) => [...root.querySelectorAll(selector)];
const make = (name, members = {}, ...children) => {
  const element = Object.assign(document.createElement(name), members);
  element.append(...children);
  return element;
};
const search = document.getElementById("search");
const found = document.getElementById("found");
const nav = document.querySelector("nav");
const menu = document.getElementById("menu");
const schemaOf = (link) => document.getElementById(link.hash.slice(1));
const schemaLinks = (root) => find('a[href^="#schema-"]', root);

/** The named shapes that a body uses, directly or through others. */
function bodyShapes(root, seen = new Set()) {
  for (const shape of schemaLinks(root).map(schemaOf)) {
    if (shape === null || seen.has(shape)) continue;
    seen.add(shape);
    bodyShapes(shape, seen);
  }
  return seen;
}

let entries;
function index() {
  const links = new Map(find("nav li a").map((link) => [link.hash.slice(1), link.parentElement]));
  const operations = find("article").map((item) => {
    const shapes = find(".body", item).flatMap((body) => [...bodyShapes(body)]);
    const fields = shapes.flatMap((shape) => find("dt code", shape).map((code) => code.textContent));
    const own = item.textContent.toLowerCase();
    const inBody = shapes.map((shape) => shape.textContent.toLowerCase()).join(" ");
    return { item, own, all: own + " " + inBody, fields: [...new Set(fields)], link: links.get(item.id) };
  });
  const schemas = find("#schemas > details").map((item) => {
    const own = item.textContent.toLowerCase();
    return { item, own, all: own, fields: [] };
  });
  return { operations, schemas };
}

const count = (many, one) => many.length + " " + one + (many.length === 1 ? "" : "s");
const OPENED = 3;
let opened = [];

function showWhy({ item, own, fields }, words) {
  item.querySelector(".why")?.remove();
  const missing = words.filter((word) => !own.includes(word));
  const names = fields.filter((field) => missing.some((word) => field.toLowerCase().includes(word))).slice(0, 5);
  if (missing.length === 0) return;
  const what = names.flatMap((name) => [" ", make("code", { textContent: name })]);
  item.querySelector(".route").after(make("p", { className: "why" }, "Found in the body", names.length ? ":" : "", ...what));
}

function filter() {
  const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
  const { operations, schemas } = (entries ??= index());
  const fits = ({ all }) => words.every((word) => all.includes(word));
  for (const shape of opened.splice(0)) shape.open = false;
  for (const entry of [...operations, ...schemas]) {
    entry.item.hidden = !fits(entry);
    if (entry.link !== undefined) entry.link.hidden = entry.item.hidden;
  }
  for (const entry of operations) showWhy(entry, words);
  for (const group of find("[data-group]")) {
    group.hidden = find("article, li, :scope > details", group).every((item) => item.hidden);
  }
  const isSearching = words.length > 0;
  document.getElementById("intro").hidden = isSearching;
  const [routes, shapes] = [operations.filter(fits), schemas.filter(fits)];
  if (isSearching && shapes.length <= OPENED) {
    opened = shapes.map(({ item }) => item).filter((item) => !item.open);
    for (const shape of opened) shape.open = true;
  }
  found.textContent = isSearching ? count(routes, "route") + ", " + count(shapes, "schema") : "";
  if (isSearching) scrollTo(0, 0);
}

search.addEventListener("input", filter);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(input|textarea|select)$/i.test(event.target.tagName)) {
    event.preventDefault();
    search.focus();
  }
  if (event.key === "Escape" && event.target === search) {
    search.value = "";
    filter();
  }
});

function openMenu(isOpen) {
  nav.classList.toggle("open", isOpen);
  menu.setAttribute("aria-expanded", String(isOpen));
}
menu.addEventListener("click", () => openMenu(!nav.classList.contains("open")));
nav.addEventListener("click", (event) => event.target.closest("a") && openMenu(false));

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

for (const pre of find("pre.copy")) {
  const button = make("button", { type: "button", textContent: "Copy" });
  button.setAttribute("aria-label", "Copy the command");
  button.addEventListener("click", async () => {
    await copy(pre.textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  pre.before(make("div", { className: "bar" }, button));
}
for (const place of find(".origin")) place.textContent = location.origin;

for (const link of find(".body").flatMap(schemaLinks)) {
  const button = make("button", { type: "button", className: "fields", textContent: "Show fields" });
  let fields;
  button.addEventListener("click", () => {
    if (fields === undefined) {
      fields = make("div", { className: "inline" }, ...find(":scope > :not(summary, pre)", schemaOf(link)).map((one) => one.cloneNode(true)));
      button.after(fields);
    } else fields.hidden = !fields.hidden;
    button.textContent = fields.hidden ? "Show fields" : "Hide fields";
  });
  link.after(" ", button);
}

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target?.tagName === "DETAILS") target.open = true;
}
addEventListener("hashchange", openTarget);
openTarget();
if (search.value !== "") filter();
${TRY_SCRIPT}`;
