import type { Status } from "../../../sdk/src/generated/shapes.ts";
import { checkFiles } from "../../config/check-files.ts";
import type { Config } from "../../config/settings-tree.ts";
import { VERSION } from "../../config/version.ts";
import { PosthornError } from "../../model/errors.ts";
import { isDataDirLocked } from "../../store/sqlite/data-dir.ts";
import { readSqliteVersion } from "../../store/sqlite/connection.ts";
import { createApiClient } from "../api-client.ts";
import { connect, findGivenUrl, getLocalUrl, isThisMachine, parseGatewayUrl } from "../connect.ts";
import { describeFailure } from "../failure.ts";
import { loadLocal, type LocalFlags } from "../local.ts";
import { countOf } from "../output.ts";
import { listAll } from "../resources/resource.ts";
import { checkBrokers, checkSources } from "./check-sources.ts";
import { checkClock, checkDisk, checkFsync, type ClockFacts, readClocks } from "./check-machine.ts";
import {
  askGateway,
  checkPort,
  findOccupation,
  checkReadiness,
  checkStatus,
  checkVersion,
  type Answered,
} from "./check-gateway.ts";
import { checkRetention, checkStore } from "./check-store.ts";
import { checkDestinations, checkOwnCertificate, collectHttpsOrigins } from "./check-tls.ts";
import { createFindings, printFindings, type Findings, type Report } from "./findings.ts";

export interface DoctorFlags extends LocalFlags {
  url?: string;
  key?: string;
}

export async function runDoctor(flags: DoctorFlags): Promise<void> {
  const findings = createFindings();
  const { about } = findings;
  const from = readClocks();
  about("versions")("ok", `Posthorn ${VERSION}, Node.js ${process.version}, SQLite ${readSqliteVersion()}`);
  const given = findGivenUrl(flags);
  const url = given === undefined ? undefined : parseGatewayUrl(given);
  const isElsewhere = url !== undefined && !isThisMachine(new URL(url).hostname);
  const facts = isElsewhere ? await examineElsewhere(url, flags, findings) : await examineHere(url, flags, findings);
  checkClock({ ...facts, from, to: readClocks() }, about("clock"));
  printFindings(findings.list, flags.json === true);
}

type OtherClocks = Pick<ClockFacts, "lastKnownNow" | "gatewayAheadMs">;

async function examineHere(url: string | undefined, flags: DoctorFlags, { about }: Findings): Promise<OtherClocks> {
  const config = checkConfig(flags, about("configuration"));
  if (config === undefined) return {};
  const folder = checkDisk(config, about("disk"));
  if (folder !== undefined) checkFsync(folder, about("fsync"));
  const inspection = checkStore(config, about("store"));
  if (inspection !== undefined) checkRetention(config, inspection, about("retention"));
  await checkSources(config, inspection, about("sources"));
  const answered = await checkGateway(config, url, about);
  await checkBrokers(config, about("brokers"));
  checkOwnCertificate(config, about("TLS"));
  const resources = [...config.subscriptions, ...config.targets, ...(inspection?.destinations ?? [])];
  await checkDestinations(collectHttpsOrigins(resources), config, about("TLS"));
  return { lastKnownNow: inspection?.lastKnownNow, gatewayAheadMs: answered?.aheadMs };
}

function checkConfig(flags: DoctorFlags, report: Report): Config | undefined {
  try {
    const loaded = loadLocal(flags);
    checkFiles(loaded);
    const { config, warnings } = loaded;
    const sources = countOf(config.sources.length, "source");
    report("ok", `valid; ${sources}, ${countOf(config.subscriptions.length, "subscription")} declared`);
    for (const warning of warnings) report("warning", warning);
    return config;
  } catch (error) {
    const problems = error instanceof PosthornError ? error.details?.["problems"] : undefined;
    for (const problem of Array.isArray(problems) ? problems : [describeFailure(error)])
      report("problem", String(problem));
    return undefined;
  }
}

async function checkGateway(
  config: Config,
  url: string | undefined,
  about: Findings["about"],
): Promise<Answered | undefined> {
  const report = about("gateway");
  let isRunning: boolean | undefined;
  try {
    isRunning = isDataDirLocked(config.dataDir);
  } catch (error) {
    report("warning", `cannot find out whether a gateway runs on this data dir: ${(error as Error).message}`);
  }
  const occupation = await findOccupation(config);
  const address = url ?? (config.port === 0 ? undefined : getLocalUrl(config));
  const { answered, failure } = address === undefined ? {} : await askGateway(createApiClient(address, undefined));
  checkPort(config, { isRunning, answered }, occupation, about("port"));
  if (answered !== undefined && address !== undefined) {
    checkReadiness(address, answered, report);
    checkVersion(answered, about("versions"));
    if (isRunning === false)
      report("warning", `${address} answers, but it is another gateway: none runs on this data dir`);
  } else if (url !== undefined && failure !== undefined) {
    report("problem", failure);
  } else if (isRunning === true) {
    // The certificate is for the gateway's public name, which is not always this address.
    const isSure = config.port !== 0 && config.tlsCert === undefined;
    const reason = failure ?? "Name it with --url or POSTHORN_URL.";
    report(isSure ? "problem" : "warning", `a gateway runs on this data dir, but does not answer here. ${reason}`);
  } else if (isRunning === false) {
    report("ok", "no gateway is running on this data dir");
  }
  return answered;
}

/** For a gateway whose files are not here: checks its answers, and its destinations as seen from this machine. */
async function examineElsewhere(url: string, flags: DoctorFlags, { about }: Findings): Promise<OtherClocks> {
  const client = await connect({ ...flags, url });
  const { answered, failure = "" } = await askGateway(client);
  if (answered === undefined) {
    about("gateway")("problem", failure);
    return {};
  }
  checkReadiness(url, answered, about("gateway"));
  checkVersion(answered, about("versions"));
  try {
    checkStatus((await client.get("/status")).read() as Status, about);
    const resources = [
      ...(await listAll(client, "/api/v1/subscriptions")),
      ...(await listAll(client, "/api/v1/targets")),
    ];
    await checkDestinations(collectHttpsOrigins(resources), { allowPrivateDestinations: true }, about("TLS"));
  } catch (error) {
    about("gateway")("warning", `checks that need a key were left out: ${describeFailure(error)}`);
  }
  return { gatewayAheadMs: answered.aheadMs };
}
