import { describe, expect, it } from "vitest";
import type { Manifest } from "../../../../src/cli/backup/manifest.ts";
import { findMissingVariables } from "../../../../src/cli/restore.ts";

const manifest = {
  variables: [
    "AGENT",
    "ORDERS_TOKEN",
    "POSTHORN_DATA_DIR",
    "POSTHORN_MASTER_KEY",
    "POSTHORN_PORT",
    "POSTHORN_PUBLIC_URL",
  ],
  needed_variables: ["ORDERS_TOKEN"],
  defaulted_variables: ["AGENT"],
} as Manifest;
const restored = { hasConfig: true, hasMasterKey: true };

describe("variables that a restore warns of", () => {
  it("are those that the gateway cannot start without, and settings that are lost", () => {
    expect(findMissingVariables(manifest, {}, restored)).toEqual({
      needed: ["ORDERS_TOKEN"],
      settings: ["POSTHORN_PUBLIC_URL"],
    });
  });

  it("are none that are set, and an empty one is not", () => {
    const env = { ORDERS_TOKEN: "x", POSTHORN_PUBLIC_URL: "https://a.example" };
    expect(findMissingVariables(manifest, env, restored)).toEqual({ needed: [], settings: [] });
    expect(findMissingVariables(manifest, { ...env, ORDERS_TOKEN: "" }, restored).needed).toEqual(["ORDERS_TOKEN"]);
  });

  it("are none of a file that was not restored, and the master key only where it is missed", () => {
    const found = findMissingVariables(manifest, {}, { hasConfig: false, hasMasterKey: false });
    expect(found).toEqual({ needed: [], settings: ["POSTHORN_MASTER_KEY", "POSTHORN_PUBLIC_URL"] });
  });
});
