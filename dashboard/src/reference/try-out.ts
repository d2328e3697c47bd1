import { button, code, findAll, make } from "./dom.ts";
import type { Operation, Parameter } from "./openapi.ts";

/**
 * Lets the reader send requests that only read. The key stays in a variable, which is gone when the page is closed,
 * and is sent to this gateway only.
 */
let key = "";

const SHOWN_CHARACTERS = 100_000;
const PATIENCE_MS = 10_000;
const CUT_OFF = "\n… cut off here";

/** Adds a button to the bar of the command, which opens a form below it. */
export function offerToTry(operation: Operation, command: HTMLElement): void {
  let form: HTMLFormElement | undefined;
  const open = button("Try it", { "data-act": "try", "aria-expanded": "false" }, () => {
    if (form === undefined) command.after((form = makeForm(operation)));
    else form.hidden = !form.hidden;
    open.setAttribute("aria-expanded", String(!form.hidden));
    if (!form.hidden) form.querySelector<HTMLElement>("input, select, button")?.focus();
  });
  command.querySelector(".bar")?.append(open);
}

function makeForm({ path, parameters = [], security = [] }: Operation): HTMLFormElement {
  const output = make("div", { class: "output", "aria-live": "polite" });
  const fields = parameters.filter((one) => one.in !== "header").map(makeField);
  const send = make("button", {}, "Send");
  const form = make(
    "form",
    { class: "try" },
    ...(security.length > 0 ? [makeKeyField()] : []),
    ...fields,
    send,
    output,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void sendRequest(addressOf(path, form), output);
  });
  return form;
}

/** Neither browsers nor password managers are to offer or keep what is written here. */
const PLAIN = { type: "text", autocomplete: "off", spellcheck: "false" };

function makeField({ name, in: place, required, description = "", example, schema }: Parameter): HTMLElement {
  const values = schema.enum?.map(String) ?? (schema.type === "boolean" ? ["true", "false"] : undefined);
  const attributes = { name, required: required === true, title: description, "data-place": place };
  const field =
    values === undefined
      ? make("input", { ...PLAIN, ...attributes, placeholder: example === undefined ? "" : String(example) })
      : make("select", attributes, ...["", ...values].map((value) => make("option", { value }, value)));
  return make("label", {}, code(name), required === true ? " required" : "", field);
}

function makeKeyField(): HTMLElement {
  const ignored = { "data-1p-ignore": "", "data-lpignore": "true" };
  const field = make("input", { ...PLAIN, ...ignored, class: "key", placeholder: "phk_…" });
  field.value = key;
  field.addEventListener("input", () => {
    key = field.value.trim();
    for (const other of findAll<HTMLInputElement>("input.key")) if (other !== field) other.value = field.value;
  });
  return make("label", {}, "Key ", make("small", {}, "kept until you leave this page"), field);
}

function addressOf(path: string, form: HTMLFormElement): string {
  const query = new URLSearchParams();
  let filled = path;
  for (const { name, value, dataset } of findAll<HTMLInputElement | HTMLSelectElement>("[data-place]", form)) {
    if (dataset["place"] === "path") filled = filled.replace(`{${name}}`, encodeURIComponent(value));
    else if (value !== "") query.set(name, value);
  }
  return query.size === 0 ? filled : `${filled}?${query}`;
}

async function sendRequest(address: string, output: HTMLElement): Promise<void> {
  const controller = new AbortController();
  const startedAt = performance.now();
  output.replaceChildren(make("p", { class: "dim" }, `GET ${address} …`));
  try {
    const headers: HeadersInit = key === "" ? {} : { authorization: `Bearer ${key}` };
    const { signal } = controller;
    const response = await fetch(address, { headers, credentials: "omit", cache: "no-store", signal });
    const text = await readSome(response, controller);
    const line = `${response.status} ${response.statusText}, ${Math.round(performance.now() - startedAt)} ms.`;
    const hint = response.status === 401 ? " Give a key above." : "";
    output.replaceChildren(
      make("p", { class: response.ok ? "dim" : "bad" }, `GET ${address}: ${line}${hint}`),
      make("pre", {}, layOut(text)),
    );
  } catch (error) {
    const { message } = error as Error;
    output.replaceChildren(make("p", { class: "bad" }, `The gateway did not answer: ${message}`));
  }
}

/** Reads only as much as the page can show: an export may be very long, and the stream never ends. */
async function readSome({ body }: Response, controller: AbortController): Promise<string> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  const timer = setTimeout(() => controller.abort(), PATIENCE_MS);
  try {
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done) return text;
      text += decoder.decode(value, { stream: true });
      if (text.length > SHOWN_CHARACTERS) {
        controller.abort();
        return text.slice(0, SHOWN_CHARACTERS) + CUT_OFF;
      }
    }
  } catch (error) {
    if (controller.signal.aborted) return text + CUT_OFF;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Keeps the text of numbers: parsing would change those with many digits. */
function layOut(text: string): string {
  if (/\d{16}/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
