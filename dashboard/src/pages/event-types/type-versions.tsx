import { JsonView } from "../../json/json-view.tsx";
import { useView } from "../../layout/use-view.ts";
import { useIsPartner } from "../../session/session.tsx";
import { apiCommand } from "../../ui/api-command.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Command } from "../../ui/empty-state.tsx";
import { Segmented } from "../../ui/segmented.tsx";
import { versionTextsOf, type VersionTexts } from "./event-type-text.ts";

/** The schema and the example of one version; which one stands in the address. */
export function TypeVersions({ name, answer }: { name: string; answer: string }) {
  const view = useView();
  const isPartner = useIsPartner();
  const versions = versionTextsOf(answer);
  const latest = versions.at(-1);
  const shown = versions.find(({ version }) => version === view.get("version")) ?? latest;
  if (shown === undefined || latest === undefined) {
    return (
      <section className="card" aria-labelledby="schema-head">
        <h2 id="schema-head">Schema</h2>
        <p className="muted">This event type has no schema: every payload is accepted.</p>
        {!isPartner && <Command text={publishCommand(name, "{}")} />}
      </section>
    );
  }
  return (
    <>
      {versions.length > 1 && (
        <Segmented
          label="Version"
          options={Object.fromEntries(versions.map(({ version }) => [version, `v ${version}`]))}
          value={shown.version}
          onChange={(version) => view.set({ version: version === latest.version ? undefined : version })}
        />
      )}
      <div className="columns">
        <section className="card" aria-labelledby="schema-head">
          <div className="card-head">
            <h2 id="schema-head">Schema {shown.version}</h2>
            <CopyButton text={shown.schema} />
          </div>
          <JsonView text={shown.schema} />
        </section>
        <Example name={name} shown={shown} />
      </div>
    </>
  );
}

function Example({ name, shown: { example } }: { name: string; shown: VersionTexts }) {
  const isPartner = useIsPartner();
  return (
    <section className="card" aria-labelledby="example-head">
      <div className="card-head">
        <h2 id="example-head">Example</h2>
        {example !== undefined && <CopyButton text={example} />}
      </div>
      {example === undefined ? <p className="muted">There is none.</p> : <JsonView text={example} />}
      {!isPartner && (
        <>
          <p className="muted small">Publish it from a terminal:</p>
          <Command text={publishCommand(name, example ?? "{}")} />
        </>
      )}
    </section>
  );
}

function publishCommand(name: string, payload: string): string {
  return apiCommand("/api/v1/events", `{"event_type":${JSON.stringify(name)},"payload":${payload}}`);
}
