// Before the first test: what runs as a process or as a thread comes from the build, which must be of these sources.
import { ensure, isReady } from "../../scripts/ensure.mjs";

export async function setup() {
  if (!isReady()) await ensure();
}
