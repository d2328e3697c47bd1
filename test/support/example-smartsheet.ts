import { SMARTSHEET_EXAMPLE as EXAMPLE } from "../../plugins/smartsheet/routes.docs.ts";
import { startSmartsheetServer } from "./smartsheet-server.ts";

/** What the examples about Smartsheet need of a gateway: a source, and somebody who plays Smartsheet. */
export interface ExampleSmartsheet {
  /** An item of `sources`. */
  readonly source: string;
  /** Further lines of the yaml. */
  readonly settings: string;
  close(): Promise<void>;
}

/** Nobody listens there: what Smartsheet says of that is an answer too. */
const PUBLIC_URL = "http://127.0.0.1:9";

export async function startExampleSmartsheet(): Promise<ExampleSmartsheet> {
  const server = await startSmartsheetServer({ allowHttpCallbacks: true });
  const callbackUrl = `${PUBLIC_URL}/webhook/${EXAMPLE.source}`;
  for (const status of ["ENABLED", "NEW_NOT_VERIFIED"]) {
    server.addWebhook({ scopeObjectId: EXAMPLE.sheet, callbackUrl, enabled: status === "ENABLED", status });
  }
  const manifest = `{ sheets: [{ id: "${EXAMPLE.sheet}", name: Purchase orders }] }`;
  return {
    source: `{ name: ${EXAMPLE.source}, kind: smartsheet, manifest: ${manifest} }`,
    settings: [
      `smartsheet_access_token: ${server.token}`,
      `smartsheet_api_host: ${server.apiHost}`,
      `public_url: ${PUBLIC_URL}`,
    ].join("\n"),
    close: server.close,
  };
}
