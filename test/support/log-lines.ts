import { createLogger } from "../../src/telemetry/logger.ts";

/** A process that logs and then ends in the way that its first argument names. */
const logger = createLogger({ level: "info", maxBytes: 1_000_000, keep: 1, pretty: false });
for (let number = 0; number < 3000; number++) logger.info({ number }, "line");

if (process.argv[2] === "exit") {
  logger.info("last line");
  process.exit(0);
}
let ticks = 0;
const timer = setInterval(() => {
  logger.info({ ticks }, "tick");
  ticks += 1;
  if (ticks < 20) return;
  clearInterval(timer);
  process.stderr.write("still alive\n");
}, 5);
