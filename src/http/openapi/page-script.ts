/** Runs in the reader's browser. Without it the page is only longer: no search, no buttons. */
export const PAGE_SCRIPT = `"use strict";
const find = (selector, root = document) => [...root.querySelectorAll(selector)];
const search = document.getElementById("search");
const found = document.getElementById("found");
const items = find("[data-text]");

function filter() {
  const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let count = 0;
  for (const item of items) {
    const fits = words.every((word) => item.dataset.text.includes(word));
    item.hidden = !fits;
    if (fits && item.tagName === "ARTICLE") count++;
  }
  for (const group of find("[data-group]")) group.hidden = find("[data-text]:not([hidden])", group).length === 0;
  found.textContent = words.length === 0 ? "" : count === 1 ? "1 match" : count + " matches";
}

search.addEventListener("input", filter);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(input|textarea)$/i.test(event.target.tagName)) {
    event.preventDefault();
    search.focus();
  }
  if (event.key === "Escape" && event.target === search) {
    search.value = "";
    filter();
  }
});

for (const pre of find("pre.copy")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.setAttribute("aria-label", "Copy the command");
  button.addEventListener("click", async () => {
    const text = pre.textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  pre.after(button);
}
for (const place of find(".origin")) place.textContent = location.origin;

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target?.tagName === "DETAILS") target.open = true;
}
addEventListener("hashchange", openTarget);
openTarget();
if (search.value !== "") filter();
`;
