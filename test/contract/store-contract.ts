import { describe } from "vitest";
import { acceptContract } from "./store/accept.ts";
import type { StoreHarness } from "./store/harness.ts";

/** What every driver of the store promises, whatever it is made of. */
export function storeContract(name: string, harness: StoreHarness): void {
  describe(`the store contract: ${name}`, () => {
    acceptContract(harness);
  });
}
