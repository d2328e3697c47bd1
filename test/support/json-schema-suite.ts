import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "vitest";
import { unpackPackage } from "./debian.ts";
import { skipWithoutService } from "./skip.ts";

/** Debian has the suite in a package for Perl; the one for npm depends on a checkout that no registry has. */
const PACKAGE = "libtest-json-schema-acceptance-perl";
const INSIDE = "usr/share/perl5/auto/share/dist/Test-JSON-Schema-Acceptance";

/** The folder of the JSON Schema Test Suite: the one that is named, or the one of Debian, which is fetched once. */
export function findJsonSchemaSuite(context: TestContext): string {
  const named = process.env["JSON_SCHEMA_TEST_SUITE"];
  if (named !== undefined && named !== "") return named;
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  for (const root of ["/", join(cache, "posthorn", PACKAGE)]) {
    if (existsSync(join(root, INSIDE)) || (root !== "/" && unpackPackage(PACKAGE, root))) return join(root, INSIDE);
  }
  return skipWithoutService(context, "the JSON Schema Test Suite");
}
