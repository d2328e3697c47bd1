import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { findTool, type ReleaseTool } from "../../../../scripts/test-tools.mjs";
import { runCommand, type Finished } from "../../../support/run-command.ts";
import { PROJECT_ROOT } from "../../../support/sample-checkout.ts";
import { skipWithoutService } from "../../../support/skip.ts";
import { must } from "../../../support/release/must.ts";

const CHART = "deploy/helm/posthorn";
const POSTGRES = {
  store: { kind: "postgres", urlSecret: { name: "database" } },
  masterKeySecret: { name: "keys" },
  adminKeySecret: { name: "keys" },
};

/** Six that people would choose, each with what it makes. */
const SETS: Record<string, { values: object; kinds: string[] }> = {
  nothing: { values: {}, kinds: ["ConfigMap", "Service", "StatefulSet"] },
  "all that SQLite can have": {
    values: {
      image: { repository: "hooks.example.com/posthorn", digest: `sha256:${"0".repeat(64)}`, pullSecrets: ["pull"] },
      store: { volume: { storageClass: "fast-ssd", size: "100Gi" } },
      masterKeySecret: { name: "keys" },
      adminKeySecret: { name: "keys" },
      envSecrets: ["tokens"],
      env: { POSTHORN_LOG_LEVEL: "debug" },
      config: {
        any_source: false,
        sources: [{ name: "orders", auth: { header: "X-Token", token: "${ORDERS_TOKEN}" } }],
      },
      ingress: { enabled: true, className: "nginx", host: "hooks.example.com", paths: ["/webhook/"], tlsSecret: "tls" },
      serviceMonitor: { enabled: true, labels: { release: "prometheus" }, keySecret: { name: "metrics" } },
      networkPolicy: { enabled: true, from: [{ namespaceSelector: { matchLabels: { name: "ingress" } } }] },
      podDisruptionBudget: { enabled: true },
      podAnnotations: { team: "platform" },
      nodeSelector: { disk: "ssd" },
      tolerations: [{ key: "disk", operator: "Exists" }],
      affinity: { nodeAffinity: {} },
    },
    kinds: ["ConfigMap", "Ingress", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceMonitor", "StatefulSet"],
  },
  "a claim that exists": {
    values: { store: { volume: { existingClaim: "old" } } },
    kinds: ["ConfigMap", "Service", "StatefulSet"],
  },
  "PostgreSQL with three": { values: { ...POSTGRES, replicas: 3 }, kinds: ["ConfigMap", "Deployment", "Service"] },
  "public metrics": {
    values: {
      config: { metrics_public: true },
      serviceMonitor: { enabled: true },
      service: { type: "LoadBalancer", port: 8080 },
    },
    kinds: ["ConfigMap", "Service", "ServiceMonitor", "StatefulSet"],
  },
  "another name, open to everybody": {
    values: {
      fullnameOverride: "hooks",
      networkPolicy: { enabled: true },
      ingress: { enabled: true, host: "hooks.example.com" },
    },
    kinds: ["ConfigMap", "Ingress", "NetworkPolicy", "Service", "StatefulSet"],
  },
};

/** Values that do not work, and what is said. */
const REJECTED: Record<string, [values: object, message: RegExp]> = {
  "two gateways on SQLite": [{ replicas: 2 }, /replicas is 2, but a SQLite database has one gateway/],
  "PostgreSQL without its URL": [{ store: { kind: "postgres" } }, /store\.urlSecret\.name/],
  "PostgreSQL without a master key": [{ ...POSTGRES, masterKeySecret: { name: "" } }, /masterKeySecret\.name/],
  "PostgreSQL without an admin key": [{ ...POSTGRES, adminKeySecret: { name: "" } }, /adminKeySecret\.name/],
  "metrics that nobody may read": [{ serviceMonitor: { enabled: true } }, /serviceMonitor\.keySecret\.name/],
  "a value that nobody knows": [{ replica: 1 }, /replica/],
  "an ingress without a host": [{ ingress: { enabled: true } }, /host/],
  "a size that is none": [{ store: { volume: { size: "large" } } }, /size/],
};

/** The kinds of Kubernetes itself that the chart makes; that of a ServiceMonitor is Prometheus' own. */
const SCHEMAS = [
  "configmap-v1",
  "deployment-apps-v1",
  "ingress-networking-v1",
  "networkpolicy-networking-v1",
  "poddisruptionbudget-policy-v1",
  "service-v1",
  "statefulset-apps-v1",
];

const TOOLS: readonly ReleaseTool[] = ["helm", "kubeconform", "Kubernetes schemas"];
let folder: string;
beforeEach((context) => {
  folder = mkdtempSync(join(tmpdir(), "posthorn-chart-"));
  context.onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

const absent = TOOLS.filter((name) => findTool(name) === undefined);
const helm = (...args: string[]): Promise<Finished> => runCommand(findTool("helm") ?? "", args, PROJECT_ROOT);

function render(values: object, chart = CHART): Promise<Finished> {
  const file = join(folder, "values.yaml");
  // JSON is yaml.
  writeFileSync(file, JSON.stringify(values));
  return helm("template", "hooks", chart, "--values", file);
}

/** Each complete in itself: as they are, they refer to one file under the name of a host. */
function writeSchemas(from: string, to: string): void {
  const readSchema = (name: string) =>
    JSON.parse(readFileSync(join(from, `${name}.json`), "utf8").replaceAll('"/api/_definitions.json#', '"#')) as Record<
      string,
      unknown
    >;
  const { $defs } = readSchema("_definitions");
  for (const name of SCHEMAS) {
    writeFileSync(join(to, `${name}.json`), JSON.stringify({ ...readSchema(name), $id: undefined, $defs }));
  }
}

function validate(manifests: string): Promise<Finished> {
  const file = join(folder, "manifests.yaml");
  writeFileSync(file, manifests);
  writeSchemas(findTool("Kubernetes schemas") ?? "", folder);
  const schemas = `${folder}/{{.ResourceKind}}{{.KindSuffix}}.json`;
  const args = ["-strict", "-summary", "-skip", "ServiceMonitor", "-schema-location", schemas, file];
  return runCommand(findTool("kubeconform") ?? "", args, PROJECT_ROOT);
}

const kindsOf = (manifests: string) =>
  parseAllDocuments(manifests)
    .flatMap((document) => (document.toJS() as { kind?: string } | null)?.kind ?? [])
    .sort();

describe("the chart", () => {
  beforeEach((context) => {
    if (absent.length > 0) skipWithoutService(context, absent.join(", "));
  });

  it.for(Object.entries(SETS))("with %s is what Kubernetes takes", async ([, { values, kinds }]) => {
    const { exitCode, stdout, stderr } = await render(values);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(kindsOf(stdout)).toEqual(kinds);
    expect(await validate(stdout)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining("Invalid: 0") as string,
    });
  });

  it("is a test that can fail: a field that Kubernetes does not know is found, and so is a broken template", async () => {
    const { stdout } = await render({});
    const wrong = stdout.replace("readOnlyRootFilesystem", "readOnlyRootFileSystem");
    expect(await validate(wrong)).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining("readOnlyRootFileSystem") as string,
    });
    const copy = join(folder, "posthorn");
    cpSync(join(PROJECT_ROOT, CHART), copy, { recursive: true });
    const file = join(copy, "templates/gateway.yaml");
    writeFileSync(file, readFileSync(file, "utf8").replace('"posthorn.pod"', '"posthorn.pot"'));
    expect((await render({}, copy)).exitCode).not.toBe(0);
    expect((await helm("lint", copy)).exitCode).not.toBe(0);
  });

  it("has nothing that helm complains about", async () => {
    const { exitCode, stdout } = await helm("lint", "--strict", CHART);
    expect([exitCode, stdout]).toEqual([0, expect.not.stringMatching(/WARNING|ERROR/)]);
  });

  it.for(Object.entries(REJECTED))("rejects %s in one line", async ([, [values, message]]) => {
    const { exitCode, stderr } = await render(values);
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(message)]);
  });

  it("warns of a network file system", async () => {
    // helm shows notes only of what it installs: so they are a manifest here.
    const copy = join(folder, "posthorn");
    cpSync(join(PROJECT_ROOT, CHART), copy, { recursive: true });
    renameSync(join(copy, "templates/NOTES.txt"), join(copy, "notes.txt"));
    writeFileSync(join(copy, "templates/notes.yaml"), 'notes: {{ tpl (.Files.Get "notes.txt") . | toJson }}\n');
    const notes = async (storageClass: string) => (await render({ store: { volume: { storageClass } } }, copy)).stdout;
    expect(await notes("azurefile-csi")).toMatch(
      /WARNING: the storage class azurefile-csi looks like a network file system/,
    );
    const good = await notes("fast-ssd");
    expect(good).toContain("cat /data/posthorn/admin.key");
    expect(good).not.toContain("WARNING");
  });

  it("hands secrets on without showing them, and one gateway to one volume", async () => {
    const { stdout } = await render({ ...SETS["all that SQLite can have"]?.values });
    expect(stdout).toMatch(/POSTHORN_MASTER_KEY\n +valueFrom:\n +secretKeyRef:\n +name: keys/);
    expect(stdout).toContain("token: ${ORDERS_TOKEN}");
    expect(stdout).toContain(`image: hooks.example.com/posthorn@sha256:${"0".repeat(64)}`);
    expect(stdout).toMatch(/replicas: 1\n/);
  });
});

describe("the workflows", () => {
  const lint = (file: string) => must(findTool("actionlint") ?? "", ["-no-color", file]);

  it("have nothing that actionlint complains about", async (context) => {
    if (findTool("actionlint") === undefined) skipWithoutService(context, "actionlint");
    const files = ["ci.yml", "release.yml"].map((name) => join(PROJECT_ROOT, ".github/workflows", name));
    for (const file of files) expect(await lint(file)).toBe("");
    // The control.
    const wrong = join(folder, "wrong.yml");
    writeFileSync(wrong, readFileSync(files[0] ?? "", "utf8").replace("matrix.runner }}", "matrix.runer }}"));
    await expect(lint(wrong)).rejects.toThrow("runer");
  });
});
