import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { sendJson } from "../../api/client.ts";
import { sourceKindsQuery } from "../../api/source-queries.ts";
import type { Source, SourceKind } from "../../api/types.ts";
import { withMember, type Draft } from "../../forms/draft.ts";
import { schemasQuery } from "../../forms/schemas-query.ts";
import { checkTenant } from "../../forms/tenant-control.tsx";
import { PageHead } from "../../layout/shell.tsx";
import { useView } from "../../layout/use-view.ts";
import { useCanChange, useSession } from "../../session/session.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Field } from "../../ui/field.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { useAction } from "../../ui/use-action.ts";
import { hintOfKind, labelOfKind } from "./presets.ts";
import { optionFields, sourceFields, SourceForm } from "./source-form.tsx";

const GENERIC = "generic";

export function NewSourcePage() {
  const view = useView();
  const kinds = useQuery(sourceKindsQuery);
  const schemas = useQuery(schemasQuery);
  const canChange = useCanChange();
  const isOperator = useSession().tenant_id === null;
  const [, navigate] = useLocation();
  const [draft, setDraft] = useState<Draft>({});
  const name = view.get("kind") ?? GENERIC;
  const create = useAction({
    async run() {
      await checkTenant(draft["tenant_id"]);
      return sendJson<Source>("POST", "/api/v1/sources", { ...draft, kind: name });
    },
    changes: ["sources"],
    says: "The source was created.",
    onDone: (source) => navigate(`/sources/${encodeURIComponent(source.name)}`),
    isFailureShown: () => true,
  });
  const error = kinds.error ?? schemas.error;
  if (error !== null) return <Failure error={error} />;
  if (kinds.data === undefined || schemas.data === undefined) return <Skeleton lines={10} />;
  if (!canChange) return <Failure error={new Error("Your key may not create sources.")} />;
  const kind = kinds.data.data.find((one) => one.name === name);
  const fields = sourceFields(schemas.data, "SourceInput").filter((field) => field.name !== "tenant_id" || isOperator);
  return (
    <>
      <PageHead title="Create source" />
      <section className="card form" aria-label="Kind">
        <KindChoice
          kinds={kinds.data.data}
          value={name}
          onChange={(next) => {
            view.set({ kind: next === GENERIC ? undefined : next });
            setDraft(withMember(draft, "options", undefined));
          }}
        />
        {kind?.pulled === false && <p className="muted small">{hintOfKind(name)}</p>}
      </section>
      <SourceForm
        key={name}
        kind={kind}
        fields={fields}
        options={optionFields(kind, schemas.data)}
        draft={draft}
        onChange={setDraft}
        onCancel={() => navigate("/sources")}
        onSubmit={() => create.mutate(undefined)}
        action="Create source"
        isBusy={create.isPending}
        error={create.error}
      />
    </>
  );
}

interface KindChoiceProps {
  kinds: readonly SourceKind[];
  value: string;
  onChange: (kind: string) => void;
}

function KindChoice({ kinds, value, onChange }: KindChoiceProps) {
  const byLabel = (list: readonly SourceKind[]) =>
    list.map(({ name }) => ({ name, label: labelOfKind(name) })).sort((a, b) => a.label.localeCompare(b.label));
  const groups = {
    Webhooks: byLabel(kinds.filter(({ pulled }) => !pulled)),
    Queues: byLabel(kinds.filter(({ pulled }) => pulled)),
  };
  return (
    <Field label="Who sends">
      {(ids) => (
        <select {...ids} className="input" value={value} onChange={({ target }) => onChange(target.value)}>
          {Object.entries(groups).map(([label, list]) => (
            <optgroup key={label} label={label}>
              {list.map((kind) => (
                <option key={kind.name} value={kind.name}>
                  {kind.label}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      )}
    </Field>
  );
}
