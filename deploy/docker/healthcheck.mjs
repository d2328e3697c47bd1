// The health check of the image, which has no curl: asks /readyz of the gateway in this container, at the port that the
// configuration names.
import http from "node:http";
import https from "node:https";

const { loadConfig } = await import("/opt/posthorn/dist/config/load.js");
const { config } = loadConfig({ env: process.env, cwd: process.cwd() });
const isTls = config.tlsCert !== undefined;

(isTls ? https : http)
  // The certificate is made for the public name.
  .get({ host: "127.0.0.1", port: config.port, path: "/readyz", rejectUnauthorized: false }, ({ statusCode }) =>
    process.exit(statusCode === 200 ? 0 : 1),
  )
  .on("error", () => process.exit(1));
