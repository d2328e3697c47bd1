/** The reference is text that hardly changes, so it is made of plain elements: React would be larger than all of it. */

export type Content = Node | string;

/** An element with these attributes; true is one without a value, false and undefined leave it out. */
export function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string | boolean | undefined>> = {},
  ...content: readonly Content[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(attribute, value === true ? "" : value);
  }
  element.append(...content);
  return element;
}

export function button(label: string, attributes: Readonly<Record<string, string>>, onClick: () => void) {
  const element = make("button", { type: "button", ...attributes }, label);
  element.addEventListener("click", onClick);
  return element;
}

export const code = (text: string) => make("code", {}, text);

/** Text between backticks is code; there is no other markup. */
export function richText(text: string): Content[] {
  return text.split(/`([^`]+)`/).map((part, n) => (n % 2 === 1 ? code(part) : part));
}

/** Puts something between the parts of a list. */
export function join(parts: readonly (readonly Content[])[], between: string): Content[] {
  return parts.flatMap((part, n) => (n === 0 ? part : [between, ...part]));
}

export function findAll<Found extends HTMLElement>(selector: string, root: ParentNode = document): Found[] {
  return [...root.querySelectorAll<Found>(selector)];
}
