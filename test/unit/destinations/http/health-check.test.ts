import { describe, expect, it } from "vitest";
import { createHealthCheck } from "../../../../src/destinations/http/sender.ts";
import type { HttpRequest, HttpResult } from "../../../../src/destinations/wire/http.ts";

const ADDRESS = { kind: "http", url: "https://n8n.example/healthz/readiness", otherUrl: "https://n8n.example/healthz" };

function answered(status: number, body = ""): HttpResult {
  return {
    kind: "response",
    status,
    headers: {},
    body: new TextEncoder().encode(body),
    address: "192.0.2.1",
    url: ADDRESS.url,
  };
}

/** Asks a far end that answers by path. */
async function ask(answers: Readonly<Record<string, HttpResult>>) {
  const requests: HttpRequest[] = [];
  const check = createHealthCheck({
    userAgent: "Posthorn/test",
    client: {
      request(request, done) {
        requests.push(request);
        done(answers[new URL(request.url).pathname] ?? answered(404));
      },
    },
  });
  const problem = await new Promise<string | undefined>((resolve) => {
    check(ADDRESS, "acme", resolve);
  });
  return { problem, requests, paths: requests.map(({ url }) => new URL(url).pathname) };
}

const READINESS = "/healthz/readiness";

describe("a health check", () => {
  // shows: B30
  it.each([
    [answered(200, '{"status":"ok"}'), undefined],
    [answered(204), 'health check: answered 204, but not {"status":"ok"}'],
    [answered(201, ' {"more":1,"status":"ok"}\n'), undefined],
    [answered(200, '{"status":"error"}'), 'health check: answered 200, but not {"status":"ok"}'],
    [answered(200, '{"status":["ok"]}'), 'health check: answered 200, but not {"status":"ok"}'],
    [answered(200, "<html>ok</html>"), 'health check: answered 200, but not {"status":"ok"}'],
    [answered(200, '"ok"'), 'health check: answered 200, but not {"status":"ok"}'],
    [answered(200, "null"), 'health check: answered 200, but not {"status":"ok"}'],
    [answered(302), "health check: answered 302"],
    [answered(503, '{"status":"ok"}'), "health check: answered 503"],
    [{ kind: "timed_out", error: "no answer" } as const, "health check: no answer"],
    [{ kind: "blocked", error: "10.0.0.1 is private" } as const, "health check: 10.0.0.1 is private"],
  ])("finds what is wrong: %j", async (answer, problem) => {
    expect((await ask({ [READINESS]: answer })).problem).toBe(problem);
  });

  it("asks with GET, in the tenant's name, without a body and without credentials", async () => {
    const { requests } = await ask({ [READINESS]: answered(200, '{"status":"ok"}') });
    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatchObject({ method: "GET", owner: "acme", headers: { "User-Agent": "Posthorn/test" } });
    expect(requests[0]?.body).toHaveLength(0);
    expect(Object.keys(requests[0]?.headers ?? {}).toSorted()).toEqual(["Accept", "User-Agent"]);
  });

  it("asks elsewhere when the first place is not known, and only then", async () => {
    const other = { "/healthz": answered(200, '{"status":"ok"}') };
    expect(await ask(other)).toMatchObject({ problem: undefined, paths: [READINESS, "/healthz"] });
    expect(await ask({ ...other, [READINESS]: answered(503) })).toMatchObject({
      problem: "health check: answered 503",
      paths: [READINESS],
    });
    expect(await ask({})).toMatchObject({ problem: "health check: answered 404" });
  });
});
