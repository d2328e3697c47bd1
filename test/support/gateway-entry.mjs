// The gateway as a process of its own, from the build, with the promises that a negative control wants broken.
// usage: node gateway-entry.mjs '{"synchronous":"OFF"}' [MS that its clock is ahead]
import { describeFailure, findExitCode } from "../../dist/cli/failure.js";
import { roomForBuffers } from "../../dist/cli/heap.js";
import { loadConfig } from "../../dist/config/load.js";
import { startGateway } from "../../dist/gateway.js";
import { createLogger } from "../../dist/telemetry/logger.js";
import { breakPromises } from "./broken-promises.mjs";

roomForBuffers();
const broken = JSON.parse(process.argv[2] ?? "{}");
const aheadMs = Number(process.argv[3] ?? 0);
const { config } = loadConfig({ env: process.env, cwd: process.cwd() });
const logger = createLogger({ level: config.logLevel, maxBytes: 1_000_000, keep: 1, pretty: false });
let hasStoreFailed = false;

try {
  const gateway = await startGateway(config, {
    logger,
    makers: breakPromises(broken),
    ...(aheadMs > 0 && { time: { wall: () => Date.now() + aheadMs } }),
    onFatal() {
      hasStoreFailed = true;
      // The refusals that were just given leave in this turn of the loop.
      setImmediate(process.exit, 1);
    },
  });
  process.on("SIGTERM", () => {
    gateway.stop().then(
      // As the command does: see cli/start.ts.
      () => process.exit(hasStoreFailed ? 1 : 0),
      (error) => {
        logger.fatal({ error }, "stopping failed");
        process.exit(1);
      },
    );
  });
  process.stdout.write(`ready ${gateway.url}\n`);
} catch (error) {
  process.stderr.write(`posthorn: ${describeFailure(error)}\n`);
  process.exit(findExitCode(error));
}
