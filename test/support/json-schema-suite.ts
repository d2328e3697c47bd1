import type { TestContext } from "vitest";
import { findTool } from "../../scripts/test-tools.mjs";
import { skipWithoutService } from "./skip.ts";

/** The folder of the JSON Schema Test Suite: the one that is named, or the one of Debian. */
export function findJsonSchemaSuite(context: TestContext): string {
  return findTool("JSON Schema Test Suite") ?? skipWithoutService(context, "the JSON Schema Test Suite");
}
