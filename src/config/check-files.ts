import { readFileSync } from "node:fs";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import type { Config } from "./settings-tree.ts";
import { complainTo, createConfigError, type LoadedConfig } from "./load.ts";
import type { Problem } from "./parse-yaml.ts";

/** Checks files that only the gateway itself reads: client commands load the configuration without access to them. */
export function checkFiles({ config, origins }: Pick<LoadedConfig, "config" | "origins">): void {
  const problems: Problem[] = [];
  checkTls(
    config,
    complainTo(origins, (problem) => problems.push(problem)),
  );
  if (problems.length > 0) throw createConfigError(problems);
}

type Complain = ReturnType<typeof complainTo>;

function checkTls({ tlsCert, tlsKey }: Config, complain: Complain): void {
  if (tlsCert === undefined || tlsKey === undefined) return;
  const cert = read("tls_cert", tlsCert, complain);
  const key = read("tls_key", tlsKey, complain);
  if (cert === undefined || key === undefined) return;
  if (!isUsable({ cert })) complain("tls_cert", `${tlsCert} does not contain a certificate in PEM format`);
  else if (!isUsable({ key })) {
    complain("tls_key", `${tlsKey} does not contain a private key in PEM format without a passphrase`);
  } else if (!isUsable({ cert, key })) {
    complain("tls_key", `${tlsKey} does not belong to the certificate in ${tlsCert}`);
  }
}

function isUsable(options: SecureContextOptions): boolean {
  try {
    createSecureContext(options);
    return true;
  } catch {
    return false;
  }
}

function read(path: string, file: string, complain: Complain): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "error";
    return complain(path, `cannot read ${file} (${code}); make it readable or name another file`);
  }
}
