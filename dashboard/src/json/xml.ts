/** XML with a line for each element. Only for reading: what is between two tags stays, white space between them does not. */
export function prettyXml(xml: string): string {
  const parts = xml.replaceAll(/>\s+</g, "><").split(/(?=<)/);
  const lines: string[] = [];
  let depth = 0;
  let isAfterOpening = false;
  for (const part of parts) {
    const isClosing = part.startsWith("</");
    if (isClosing) depth = Math.max(0, depth - 1);
    if (isClosing && isAfterOpening) lines.push((lines.pop() ?? "") + part);
    else lines.push("  ".repeat(Math.min(depth, 40)) + part);
    isAfterOpening = !isClosing && /^<[^?!]/.test(part) && !/\/>\s*$/.test(part) && !part.includes("/>");
    if (isAfterOpening) depth++;
  }
  return lines.join("\n");
}
