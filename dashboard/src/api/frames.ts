/** One frame of the live stream. */
export interface StreamFrame {
  name: string;
  data: unknown;
}

/** WHATWG HTML §9.2, as far as the gateway uses it. */
export function createFrameParser(
  onBlock: (id: string | undefined, frame: StreamFrame | undefined) => void,
): (text: string) => void {
  let rest = "";
  return (text) => {
    const blocks = (rest + text).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const fields = new Map<string, string>();
      for (const line of block.split("\n")) {
        const colon = line.indexOf(":");
        if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).trimStart());
      }
      const [name, data] = [fields.get("event"), fields.get("data")];
      const frame = name === undefined || data === undefined ? undefined : { name, data: JSON.parse(data) as unknown };
      onBlock(fields.get("id"), frame);
    }
  };
}
