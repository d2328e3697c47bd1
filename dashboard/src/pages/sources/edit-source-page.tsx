import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation, useParams } from "wouter";
import { ApiError, sendJson, type Versioned } from "../../api/client.ts";
import { sourceKindsQuery, sourceQuery } from "../../api/source-queries.ts";
import type { Source, SourceKind } from "../../api/types.ts";
import { changesOf, draftOf, isSame, type Draft } from "../../forms/draft.ts";
import type { Schemas } from "../../forms/json-schema.ts";
import { schemasQuery } from "../../forms/schemas-query.ts";
import { PageHead } from "../../layout/shell.tsx";
import { useCanChange } from "../../session/session.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { useAct } from "../../ui/use-act.ts";
import { Outdated } from "../../ui/outdated.tsx";
import { optionFields, sourceFields, SourceForm } from "./source-form.tsx";

/** What is only written, or has an act of its own. */
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
  const fields = sourceFields(schemas, "SourceChange").filter((field) => !NOT_EDITED.has(field.name));
  const withOptions = (thing: Source): Draft => ({ ...draftOf(thing, fields), options: thing.options });
  const [base, setBase] = useState(first);
  const [draft, setDraft] = useState(() => withOptions(first.thing));
  const [, navigate] = useLocation();
  const client = useQueryClient();
  const path = `/sources/${encodeURIComponent(name)}`;
  const before = withOptions(base.thing);
  const changes = {
    ...changesOf(before, draft, fields),
    ...(!isSame(before["options"], draft["options"]) && { options: draft["options"] }),
  };
  const save = useAct({
    run: () => sendJson<Source>("PATCH", `/api/v1${path}`, changes, base.etag),
    changes: ["source", "sources"],
    says: "The source was changed.",
    onDone: () => navigate(path),
    isFailureShown: () => true,
  });
  const isOutdated = save.error instanceof ApiError && save.error.isOutdated;
  return (
    <>
      {isOutdated && (
        <Outdated
          yours={draft}
          load={async () => {
            const now = await client.fetchQuery({ ...sourceQuery(name), staleTime: 0 });
            return { thing: withOptions(now.thing), now };
          }}
          onTakeTheirs={({ thing, now }) => {
            setBase(now);
            setDraft(thing);
            save.reset();
          }}
          onKeepYours={({ now }) => {
            setBase(now);
            save.reset();
          }}
        />
      )}
      <SourceForm
        kind={kind}
        fields={fields}
        options={optionFields(kind, schemas)}
        draft={draft}
        onChange={setDraft}
        onSubmit={() => save.mutate(undefined)}
        act="Save"
        isBusy={save.isPending}
        error={isOutdated ? null : save.error}
      />
    </>
  );
}
