// Starts the gateway from the build without the command line around it.
import { loadConfig } from "../dist/config/load.js";
import { startGateway } from "../dist/gateway.js";
import { createLogger } from "../dist/telemetry/logger.js";

const { config } = loadConfig({ env: process.env, cwd: process.cwd() });
const { logFileMaxBytes, logFileKeep } = config.limits;
const logger = createLogger({ level: config.logLevel, maxBytes: logFileMaxBytes, keep: logFileKeep, pretty: false });
const gateway = await startGateway(config, { logger, onFatal: () => process.exit(1) });

process.once("SIGTERM", () => {
  void gateway.stop().then(() => process.exit(0));
});
