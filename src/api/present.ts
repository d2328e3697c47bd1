export function isoTime(ms: number): string;
export function isoTime(ms: number | undefined): string | undefined;
export function isoTime(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}
/** As text where it is UTF-8; of what was not kept nothing. */
export function presentBody(bytes: Uint8Array | undefined): { body?: string; body_base64?: string } {
  if (bytes === undefined) return {};
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const text = body.toString("utf8");
  return Buffer.from(text, "utf8").equals(body) ? { body: text } : { body_base64: body.toString("base64") };
}
