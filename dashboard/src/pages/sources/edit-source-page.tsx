import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation, useParams } from "wouter";
import { sendJson, type Versioned } from "../../api/client.ts";
import { sourceKindsQuery, sourceQuery } from "../../api/source-queries.ts";
import type { Source, SourceKind } from "../../api/types.ts";
import { draftOf } from "../../forms/draft.ts";
import { fieldsOf, type Field } from "../../forms/fields.ts";
import type { Schemas } from "../../forms/json-schema.ts";
import { schemasQuery } from "../../forms/schemas-query.ts";
import { useEditing } from "../../forms/use-editing.ts";
import { PageHead } from "../../layout/shell.tsx";
import { useCanChange } from "../../session/session.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Outdated } from "../../ui/outdated.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { useToast } from "../../ui/toasts.tsx";
import { optionFields, sourceFields, SourceForm } from "./source-form.tsx";

/** What is only written, or has an action of its own. */
const NOT_EDITED = new Set(["secrets", "path_token", "auth"]);

export function EditSourcePage() {
  const { name } = useParams<{ name: string }>();
  // The version that the form begins with: what comes later is what a 412 is about.
  const source = useQuery({ ...sourceQuery(name), refetchInterval: false, refetchOnReconnect: false });
  const kinds = useQuery(sourceKindsQuery);
  const schemas = useQuery(schemasQuery);
  const canChange = useCanChange();
  const error = source.error ?? kinds.error ?? schemas.error;
  if (error !== null) return <Failure error={error} />;
  if (source.data === undefined || kinds.data === undefined || schemas.data === undefined)
    return <Skeleton lines={10} />;
  if (!canChange) return <Failure error={new Error("Your key may not change sources.")} />;
  const kind = kinds.data.data.find((one) => one.name === source.data.thing.kind);
  return (
    <>
      <PageHead title={`Edit ${name}`} />
      <Editor name={name} first={source.data} kind={kind} schemas={schemas.data} />
    </>
  );
}

interface EditorProps {
  name: string;
  first: Versioned<Source>;
  kind: SourceKind | undefined;
  schemas: Schemas;
}

function Editor({ name, first, kind, schemas }: EditorProps) {
  const [, navigate] = useLocation();
  const client = useQueryClient();
  const toast = useToast();
  const path = `/sources/${encodeURIComponent(name)}`;
  const fields = sourceFields(schemas, "SourceChange").filter((field) => !NOT_EDITED.has(field.name));
  const edited = [...fields, ...fieldsOf(schemas["SourceChange"] ?? {}, schemas).filter(isOptions)];
  const editing = useEditing<Source>({
    opened: first,
    fields: edited,
    toDraft: (thing) => draftOf(thing, edited),
    save: (changes, etag) => sendJson("PATCH", `/api/v1${path}`, changes, etag),
    reload: () => client.fetchQuery({ ...sourceQuery(name), staleTime: 0 }),
    onSaved() {
      toast.show("The source was changed.");
      for (const queryKey of [["source"], ["sources"]]) void client.invalidateQueries({ queryKey });
      navigate(path);
    },
  });
  return (
    <>
      {editing.outdated !== undefined && <Outdated {...editing.outdated} />}
      <SourceForm
        kind={kind}
        fields={fields}
        options={optionFields(kind, schemas)}
        draft={editing.draft}
        onChange={editing.setDraft}
        onCancel={() => navigate(path)}
        onSubmit={editing.submit}
        action="Save"
        isBusy={editing.isBusy}
        error={editing.error}
      />
    </>
  );
}

/** They are checked by the kind, and have a part of the form of their own. */
function isOptions({ name }: Field): boolean {
  return name === "options";
}
