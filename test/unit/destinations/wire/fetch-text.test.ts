import { describe, expect, it } from "vitest";
import { createFetchText } from "../../../../src/destinations/wire/http-client.ts";
import type { HttpRequest, HttpResult } from "../../../../src/destinations/wire/http.ts";

const ANSWER = { headers: {}, address: "203.0.113.1", url: "https://certs.example/a.pem" };

function fetchWith(result: HttpResult) {
  const asked: HttpRequest[] = [];
  const fetchText = createFetchText({
    request(request, done) {
      asked.push(request);
      done(result);
    },
  });
  return { asked, text: fetchText("https://certs.example/a.pem?token=hidden") };
}

describe("a text from elsewhere", () => {
  it("is asked for once, follows nobody to another place, and comes as it is", async () => {
    const { asked, text } = fetchWith({ kind: "response", status: 200, body: Buffer.from("grüße"), ...ANSWER });
    expect(await text).toBe("grüße");
    expect(asked).toMatchObject([{ method: "GET", maxRedirects: 0, url: "https://certs.example/a.pem?token=hidden" }]);
  });

  it.each<HttpResult>([
    { kind: "response", status: 404, body: Buffer.alloc(0), ...ANSWER },
    { kind: "timed_out", error: "no answer" },
    { kind: "blocked", error: "not allowed" },
  ])("that cannot be had is our own trouble: %j", async (result) => {
    const { text } = fetchWith(result);
    await expect(text).rejects.toMatchObject({ code: "unavailable", retryAfterS: 30 });
    await expect(text).rejects.not.toMatchObject({ message: expect.stringContaining("hidden") });
  });
});
