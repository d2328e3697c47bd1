import type { Output } from "../../examples/support/narrator.ts";

/** What an example tells, as a text without colours. */
export function captureOutput(terminal: Partial<Output["terminal"]> = {}): { output: Output; text: () => string } {
  let text = "";
  return {
    output: {
      terminal: { width: undefined, hasColour: false, ...terminal },
      write: (part) => void (text += part),
    },
    text: () => text,
  };
}
