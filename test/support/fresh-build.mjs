// Before the first test: what runs as a process or as a thread comes from the build, which must be of these sources.
import { ensure } from "../../scripts/ensure.mjs";

export async function setup() {
  await ensure();
}
