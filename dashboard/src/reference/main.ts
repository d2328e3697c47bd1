import { button, code, make, richText } from "./dom.ts";
import { collectExamples, groupOperations, type OpenApi } from "./openapi.ts";
import { showCommand, showGroup, showNavigation } from "./operations.ts";
import { showFields } from "./schemas.ts";
import { createSearch } from "./search.ts";
import "./reference.css";

/** The API reference: the gateway's OpenAPI document, for people. It loads nothing from other sites. */
async function showReference(): Promise<void> {
  const response = await fetch("/openapi.json");
  const openApi = (await response.json()) as OpenApi;
  const groups = groupOperations(openApi);
  const { field, found } = createSearch();
  const contents = make("div", { id: "contents" }, ...groups.map(showNavigation));
  contents.append(make("h2", {}, make("a", { href: "#schemas" }, "Schemas")));
  const menu = button("Contents", { id: "menu", "aria-expanded": "false", "aria-controls": "contents" }, () =>
    openMenu(!nav.classList.contains("open")),
  );
  const nav = make("nav", { "aria-label": "Reference" }, make("div", { class: "find" }, field, menu), found, contents);
  nav.addEventListener("click", ({ target }) => {
    if (target instanceof Element && target.closest("a") !== null) openMenu(false);
  });

  function openMenu(isOpen: boolean): void {
    nav.classList.toggle("open", isOpen);
    menu.setAttribute("aria-expanded", String(isOpen));
  }

  document.body.replaceChildren(
    make("a", { class: "skip", href: "#main" }, "Skip to the reference"),
    nav,
    make("main", { id: "main", tabindex: "-1" }, showIntro(openApi), ...groups.map(showGroup), showSchemas(openApi)),
  );
  addEventListener("hashchange", openTarget);
  openTarget();
}

function showIntro({ info }: OpenApi): HTMLElement {
  return make(
    "div",
    { id: "intro" },
    make("h1", {}, "Posthorn API ", make("small", {}, info.version)),
    ...info.description.split("\n\n").map((text) => make("p", {}, ...richText(text))),
    make(
      "p",
      {},
      "Requests that only read can be tried out on this page. The same for programs: ",
      make("a", { href: "/openapi.json" }, "openapi.json"),
      ". To run the examples:",
    ),
    showCommand(`export POSTHORN_URL=${location.origin}\nexport POSTHORN_API_KEY=phk_…`),
  );
}

function showSchemas(openApi: OpenApi): HTMLElement {
  const { schemas } = openApi.components;
  const examples = collectExamples(openApi);
  const shapes = Object.keys(schemas)
    .sort()
    .map((name) => {
      const example = examples.get(name);
      const shown = example === undefined ? [] : [make("pre", {}, JSON.stringify(example, null, 1))];
      const title = make("summary", {}, code(name));
      return make("details", { id: `schema-${name}` }, title, ...showFields(schemas[name] ?? {}, schemas), ...shown);
    });
  return make("section", { id: "schemas", "data-group": true }, make("h2", {}, "Schemas"), ...shapes);
}

/** The part that the address names was not there yet when the browser looked for it. */
function openTarget(): void {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) target.open = true;
  target?.scrollIntoView();
}

showReference().catch((error: unknown) => {
  document.body.replaceChildren(make("p", {}, `The gateway did not answer: ${(error as Error).message}. Load again.`));
});
