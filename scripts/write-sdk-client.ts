/**
 * `npm run write:sdk` writes the typed client of sdk/src/generated from the routes of a gateway that it starts.
 * `test/integration/sdk-client.test.ts` fails when the files are out of date.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { startTestGateway } from "../test/support/test-gateway.ts";
import type { OpenApiDocument } from "./sdk-client/operations.ts";
import { renderClient } from "./sdk-client/render-client.ts";

const FOLDER = new URL("../sdk/src/generated/", import.meta.url);

/** The files that are out of date, each with the command that updates them. */
export function findStaleClient(document: unknown): string[] {
  return Object.entries(renderClient(document as OpenApiDocument))
    .filter(([name, text]) => readFileSync(new URL(name, FOLDER), "utf8") !== text)
    .map(([name]) => `sdk/src/generated/${name} is out of date; run \`npm run write:sdk\``);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const gateway = await startTestGateway();
  try {
    const { json } = await gateway.get("/openapi.json");
    mkdirSync(FOLDER, { recursive: true });
    for (const [name, text] of Object.entries(renderClient(json as unknown as OpenApiDocument))) {
      writeFileSync(new URL(name, FOLDER), text);
    }
  } finally {
    await gateway.close();
  }
}
