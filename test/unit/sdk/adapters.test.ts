import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import { fastify } from "fastify";
import { Hono } from "hono";
import { afterEach, describe, expect, it } from "vitest";
import { verifyWebhook as expressWebhook, type WebhookRequest } from "../../../sdk/src/adapters/express.ts";
import { verifyWebhooks, type WebhookRequest as FastifyWebhookRequest } from "../../../sdk/src/adapters/fastify.ts";
import { verifyWebhook as honoWebhook } from "../../../sdk/src/adapters/hono.ts";
import { withWebhook } from "../../../sdk/src/adapters/next.ts";
import { sign, type VerifiedWebhook } from "../../../sdk/src/index.ts";

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const BODY = '{"n":12345678901234567890}';

type Send = (headers: Record<string, string>, body?: string) => Promise<{ status: number; text: string }>;

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function sendTo(url: string, headers: Record<string, string>, body = BODY) {
  const response = await fetch(url, { method: "POST", headers: { ...headers, connection: "close" }, body });
  return { status: response.status, text: await response.text() };
}

async function listen(server: Server): Promise<Send> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => new Promise((resolve) => server.close(resolve)));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  return (headers, body) => sendTo(url, headers, body);
}

const textOf = ({ body }: VerifiedWebhook) => Buffer.from(body).toString();

const SERVERS: Record<string, () => Promise<Send>> = {
  express() {
    const app = express();
    app.post("/hook", expressWebhook(SECRET), (request, response) => {
      response.send(textOf((request as WebhookRequest).webhook as VerifiedWebhook));
    });
    return listen(createServer(app));
  },
  "express with raw bodies"() {
    const app = express();
    app.post("/hook", express.raw({ type: () => true }), expressWebhook(SECRET), (request, response) => {
      response.send(textOf((request as WebhookRequest).webhook as VerifiedWebhook));
    });
    return listen(createServer(app));
  },
  async fastify() {
    const app = fastify();
    await app.register(async (scope) => {
      verifyWebhooks(scope, SECRET);
      scope.post("/hook", async (request) =>
        textOf((request as unknown as FastifyWebhookRequest).webhook as VerifiedWebhook),
      );
    });
    const url = await app.listen({ host: "127.0.0.1", port: 0 });
    closing.push(() => app.close());
    return (headers, body) => sendTo(`${url}/hook`, headers, body);
  },
  async hono() {
    const app = new Hono<{ Variables: { webhook: VerifiedWebhook } }>();
    app.post("/hook", honoWebhook(SECRET), async (context) => {
      // The body can still be read.
      return context.text(textOf(context.get("webhook")) === (await context.req.text()) ? BODY : "another");
    });
    return async (headers, body = BODY) => {
      const response = await app.request("/hook", { method: "POST", headers, body });
      return { status: response.status, text: await response.text() };
    };
  },
  async next() {
    const POST = withWebhook(SECRET, async (webhook, request, _context: { params: object }) => {
      return new Response(textOf(webhook) === (await request.text()) ? BODY : "another");
    });
    return async (headers, body = BODY) => {
      const request = new Request("http://127.0.0.1/hook", { method: "POST", headers, body });
      const response = await POST(request, { params: {} });
      return { status: response.status, text: await response.text() };
    };
  },
};

describe.each(Object.keys(SERVERS))("a receiver on %s", (name) => {
  const open = () => (SERVERS[name] as () => Promise<Send>)();

  it("takes a webhook whose signature is right, byte by byte", async () => {
    const send = await open();
    const headers = { "content-type": "application/json", ...(await sign(BODY, SECRET)) };
    expect(await send(headers)).toEqual({ status: 200, text: BODY });
  });

  it("answers 401 to one whose body was changed, and to one without a signature", async () => {
    const send = await open();
    const headers = { "content-type": "application/json", ...(await sign(BODY, SECRET)) };
    expect((await send(headers, BODY.replace("0}", "1}"))).status).toBe(401);
    expect((await send({ "content-type": "application/json" })).status).toBe(401);
  });
});

describe("a receiver that makes a mistake", () => {
  it("is told that the body was parsed too early", async () => {
    const app = express();
    const errors: unknown[] = [];
    app.post("/hook", express.json(), expressWebhook(SECRET));
    app.use((error: Error, _request: unknown, response: express.Response, _next: unknown) => {
      errors.push(error);
      response.sendStatus((error as unknown as { status: number }).status);
    });
    const send = await listen(createServer(app));
    const headers = { "content-type": "application/json", ...(await sign(BODY, SECRET)) };
    expect((await send(headers)).status).toBe(500);
    expect(errors).toMatchObject([{ code: "body_not_raw" }]);
  });

  it("takes no more than it wants to", async () => {
    const app = express();
    app.post("/hook", expressWebhook(SECRET, { maxBytes: 10 }));
    const send = await listen(createServer(app));
    expect((await send(await sign(BODY, SECRET))).status).toBe(413);
  });
});
