/** A request with a key of the API, as a command for a terminal. */
export function curlCommand(address: string, body?: unknown, method?: string): string {
  const parts = [
    `curl${method === undefined ? "" : ` -X ${method}`} ${quoteAddress(address)}`,
    `-H "authorization: Bearer $POSTHORN_API_KEY"`,
  ];
  if (body !== undefined) parts.push(`-H 'content-type: application/json'`, `-d ${quote(toText(body))}`);
  return parts.join(" ");
}

/** Text that is JSON already is sent as it is. */
function toText(body: unknown): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Shells give ? and & a meaning. */
function quoteAddress(address: string): string {
  return /[?&*]/.test(address) ? quote(address) : address;
}
