import { Type } from "typebox";
import type { AreaDocs } from "../openapi/operation-docs.ts";

const page = { schema: Type.String() };

export const DOCUMENTATION_DOCS: AreaDocs = {
  tag: "Reference",
  description: "This API reference",
  operations: {
    "GET /": {
      answer: { ...page, description: "A page", contentType: "text/html", example: "<!doctype html>…" },
    },
    "GET /openapi.json": {
      answer: {
        description: "OpenAPI 3.1",
        schema: Type.Object(
          { openapi: Type.String(), paths: Type.Object({}, { additionalProperties: true }) },
          { additionalProperties: true },
        ),
        example: {
          openapi: "3.1.0",
          info: { title: "Posthorn", version: "0.1.0" },
          servers: [{ url: "/" }],
          tags: [],
          paths: {},
          webhooks: {},
          components: {},
        },
      },
    },
    "GET /docs": {
      answer: { ...page, description: "A page", contentType: "text/html", example: "<!doctype html>…" },
    },
    "GET /docs/page.js": {
      answer: {
        ...page,
        description: "The script of the reference: search, copy buttons, and sending requests",
        contentType: "text/javascript",
        example: "const search = …",
      },
    },
  },
};
