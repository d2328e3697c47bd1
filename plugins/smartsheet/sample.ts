import { bodyHmac, type Sample } from "../../src/sources/sample.ts";
import document from "./sample.json" with { type: "json" };

export const SMARTSHEET_SAMPLE: Sample = { ...document, sign: bodyHmac("smartsheet-hmac-sha256", "hex") };
