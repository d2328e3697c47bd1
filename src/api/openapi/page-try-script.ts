/**
 * Lets the reader send requests that only read. The key stays in a variable, which is gone when the page is closed,
 * and is sent to this gateway only.
 */
export const TRY_SCRIPT = `
let key = "";
let description;
const SHOWN_CHARACTERS = 100_000;
const PATIENCE_MS = 10_000;

const loadDescription = () => (description ??= fetch("/openapi.json").then((response) => response.json()));

function makeField({ name, in: place, required, description = "", example, schema }) {
  const values = schema.enum ?? (schema.type === "boolean" ? ["true", "false"] : undefined);
  const field = values
    ? make("select", {}, ...["", ...values].map((value) => make("option", { value, textContent: value })))
    : make("input", { type: "text", placeholder: example === undefined ? "" : String(example), autocomplete: "off", spellcheck: false });
  Object.assign(field, { name, required: required === true, title: description });
  field.dataset.place = place;
  return make("label", {}, make("code", { textContent: name }), required ? " required" : "", field);
}

function makeKeyField() {
  const field = make("input", { type: "text", className: "key", value: key, placeholder: "phk_…", autocomplete: "off", spellcheck: false });
  field.setAttribute("data-1p-ignore", "");
  field.setAttribute("data-lpignore", "true");
  field.addEventListener("input", () => {
    key = field.value.trim();
    for (const other of find("input.key")) if (other !== field) other.value = field.value;
  });
  return make("label", {}, "Key ", make("small", { textContent: "kept until you leave this page" }), field);
}

function addressOf(path, form) {
  const query = new URLSearchParams();
  let filled = path;
  for (const { name, value, dataset } of find("[data-place]", form)) {
    if (dataset.place === "path") filled = filled.replace("{" + name + "}", encodeURIComponent(value));
    else if (dataset.place === "query" && value !== "") query.set(name, value);
  }
  const asked = query.toString();
  return asked === "" ? filled : filled + "?" + asked;
}

/** Reads only as much as the page can show: an export may be very long, and the stream never ends. */
async function readSome(response, controller) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  const timer = setTimeout(() => controller.abort(), PATIENCE_MS);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text;
      text += decoder.decode(value, { stream: true });
      if (text.length > SHOWN_CHARACTERS) {
        controller.abort();
        return text.slice(0, SHOWN_CHARACTERS) + "\\n… cut off here";
      }
    }
  } catch (error) {
    if (controller.signal.aborted) return text + "\\n… cut off here";
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Keeps the text of numbers: parsing would change those with many digits. */
function layOut(text) {
  if (/\\d{16}/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

async function send(path, form, output) {
  const address = addressOf(path, form);
  const controller = new AbortController();
  const startedAt = performance.now();
  output.replaceChildren(make("p", { className: "dim", textContent: "GET " + address + " …" }));
  try {
    const headers = key === "" ? {} : { authorization: "Bearer " + key };
    const response = await fetch(address, { headers, credentials: "omit", cache: "no-store", signal: controller.signal });
    const text = await readSome(response, controller);
    const line = response.status + " " + response.statusText + ", " + Math.round(performance.now() - startedAt) + " ms";
    const hint = response.status === 401 ? " Give a key above." : "";
    output.replaceChildren(
      make("p", { className: response.ok ? "dim" : "bad", textContent: "GET " + address + ": " + line + "." + hint }),
      make("pre", { textContent: layOut(text) }),
    );
  } catch (error) {
    output.replaceChildren(make("p", { className: "bad", textContent: "The gateway did not answer: " + error.message }));
  }
}

async function makeForm(path) {
  const { paths } = await loadDescription();
  const { parameters = [], security = [] } = paths[path].get;
  const output = make("div", { className: "output" });
  output.setAttribute("aria-live", "polite");
  const fields = parameters.filter((one) => one.in !== "header").map(makeField);
  const form = make("form", { className: "try" }, ...(security.length > 0 ? [makeKeyField()] : []), ...fields, make("button", { textContent: "Send" }), output);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void send(path, form, output);
  });
  return form;
}

for (const article of find("[data-try]")) {
  const button = make("button", { type: "button", textContent: "Try it" });
  button.dataset.act = "try";
  button.setAttribute("aria-expanded", "false");
  let form;
  button.addEventListener("click", async () => {
    if (form === undefined) {
      form = makeForm(article.dataset.try);
      article.querySelector(".curl").after(await form);
    } else (await form).hidden = !(await form).hidden;
    const isOpen = !(await form).hidden;
    button.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) (await form).querySelector("input, select, button")?.focus();
  });
  article.querySelector(".bar").append(button);
}
`;
