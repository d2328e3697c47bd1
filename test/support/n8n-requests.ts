import { request as sendRequest } from "node:http";
import type { N8nExecution } from "./n8n-server.ts";

/** What n8n says where its node says nothing else and wants a text. */
export const N8N_ACCEPTS = "application/json,text/html,application/xhtml+xml,application/xml,text/*;q=0.9, */*;q=0.1";
const JSON_TYPE = { "content-type": "application/json; charset=utf-8" };

/** What senders may send, and what must not lead anywhere else. */
export const REQUESTS: readonly { method: string; rest?: string; body?: Buffer; headers?: Record<string, string> }[] = [
  { method: "POST", body: Buffer.from('{ "id": 1, "name": "Łódź" }\n'), headers: JSON_TYPE },
  {
    method: "PUT",
    rest: "/eu/%C5%81%C3%B3d%C5%BA?dry=1&q=a%20b",
    body: Buffer.from("[]"),
    headers: { "content-type": "application/vnd.shop+json", "x-github-event": "push", accept: "text/plain" },
  },
  { method: "GET", rest: "/confirm?token=1" },
  { method: "DELETE", rest: "/17", headers: { "x-reason": "cancelled" } },
  { method: "PATCH", body: Buffer.from([0, 255, 128]), headers: { "content-type": "image/png" } },
  {
    method: "POST",
    body: Buffer.from('--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\n'),
    headers: { "content-type": "multipart/form-data; boundary=b" },
  },
  { method: "POST", rest: "/../../rest/users/%2e%2e/..%2f..%2frest?x=%2e", body: Buffer.from("{}") },
  {
    method: "POST",
    body: Buffer.from("{}"),
    headers: {
      authorization: "Bearer s3cret",
      "x-real-ip": "203.0.113.9",
      "x-forwarded-host": "other.example",
      connection: "close, x-hop",
      "x-hop": "1",
    },
  },
];

/** What does not differ from delivery to delivery, and from who sends it. */
export function shown({ method, path, headers, raw }: N8nExecution) {
  const volatile =
    /^(?:x-webhook-(?:id|timestamp|attempt|signature)|webhook-(?:timestamp|signature)|traceparent|x-posthorn-hops|user-agent|accept-encoding|connection|host|content-length|transfer-encoding)$/;
  const same = Object.entries(headers)
    .filter(([name, value]) => !volatile.test(name) && !(name === "accept" && value === N8N_ACCEPTS))
    .map(([name, value]) => [name, name === "content-type" ? String(value).toLowerCase() : value]);
  return { method, path, headers: Object.fromEntries(same) as object, body: raw.toString("base64") };
}

/** As it is written: `fetch` would resolve the steps of a path. */
export function sendRaw(
  url: string,
  method: string,
  path: string,
  body: Buffer,
  headers: Record<string, string>,
): Promise<Record<string, unknown>> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const length = { "content-length": String(body.length) };
    const options = { hostname, port, method, path, headers: { ...headers, ...length }, agent: false as const };
    const request = sendRequest(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve(JSON.parse(text) as Record<string, unknown>)).on("error", reject);
    });
    request.on("error", reject).end(body);
  });
}
