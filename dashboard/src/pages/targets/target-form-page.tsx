import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState, type FormEvent } from "react";
import { useLocation, useParams } from "wouter";
import { getVersioned, sendJson, type Versioned } from "../../api/client.ts";
import { targetQuery } from "../../api/queries.ts";
import type { Target } from "../../api/types.ts";
import { draftOf } from "../../forms/draft.ts";
import { fieldsOf } from "../../forms/fields.ts";
import type { Schemas } from "../../forms/json-schema.ts";
import { Members } from "../../forms/schema-field.tsx";
import { schemasQuery } from "../../forms/schemas-query.ts";
import { checkTenant } from "../../forms/tenant-control.tsx";
import { useEditing } from "../../forms/use-editing.ts";
import { PageHead } from "../../layout/shell.tsx";
import { useView } from "../../layout/use-view.ts";
import { AdminOnly } from "../../session/admin-only.tsx";
import { useSession } from "../../session/session.tsx";
import { Button } from "../../ui/button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Outdated } from "../../ui/outdated.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { useToast } from "../../ui/toasts.tsx";
import { hrefOf } from "./target-key.ts";

export function NewTargetPage() {
  const { data, error } = useQuery(schemasQuery);
  return (
    <>
      <PageHead title="Create shared target" />
      {error !== null && <Failure error={error} />}
      {data === undefined ? (
        error === null && <Skeleton lines={8} />
      ) : (
        <AdminOnly>
          <TargetForm schemas={data} opened={undefined} />
        </AdminOnly>
      )}
    </>
  );
}

export function EditTargetPage() {
  const { key } = useParams<{ key: string }>();
  const tenantId = useView().get("tenant_id");
  const schemas = useQuery(schemasQuery);
  const target = useQuery(targetQuery(key, tenantId));
  const [opened, setOpened] = useState<typeof target.data>();
  if (opened === undefined && target.data !== undefined && !target.isFetching) setOpened(target.data);
  const error = schemas.error ?? (opened === undefined ? target.error : null);
  return (
    <>
      <PageHead title={opened === undefined ? "Target" : `Edit ${opened.thing.name}`} />
      {error !== null && <Failure error={error} />}
      {schemas.data === undefined || opened === undefined ? (
        error === null && <Skeleton lines={8} />
      ) : (
        <AdminOnly>
          <TargetForm schemas={schemas.data} opened={opened} />
        </AdminOnly>
      )}
    </>
  );
}

function TargetForm({ schemas, opened }: { schemas: Schemas; opened: Versioned<Target> | undefined }) {
  const session = useSession();
  const toast = useToast();
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const fields = useMemo(() => {
    const all = fieldsOf({ $ref: "#/components/schemas/TargetInput" }, schemas);
    const fixed = opened === undefined ? [] : ["name", "tenant_id"];
    return all
      .filter(({ name }) => !fixed.includes(name) && (name !== "tenant_id" || session.tenant_id === null))
      .map((field) => ({ ...field, isNullable: true }));
  }, [schemas, opened, session]);
  const path = `/api/v1/targets/${encodeURIComponent(opened?.thing.name ?? "")}?tenant_id=${encodeURIComponent(opened?.thing.tenant_id ?? "")}`;
  const editing = useEditing<Target>({
    opened,
    fields,
    toDraft: (thing) => draftOf(thing, fields),
    async save(body, etag) {
      if (opened !== undefined) return sendJson("PATCH", path, body, etag);
      await checkTenant(body["tenant_id"]);
      return sendJson("POST", "/api/v1/targets", body);
    },
    reload: () => getVersioned(path),
    onSaved(saved) {
      toast.show(`${saved.name} is ${opened === undefined ? "created" : "saved"}.`);
      for (const queryKey of [["target"], ["targets"]]) void client.invalidateQueries({ queryKey });
      navigate(hrefOf(saved));
    },
  });
  const { draft, setDraft, fault, error, outdated } = editing;

  function submit(event: FormEvent): void {
    event.preventDefault();
    editing.submit();
  }

  return (
    <form className="stack form-alone" onSubmit={submit} noValidate>
      <section className="card">
        <div className="section-body">
          <Members fields={fields} path="" draft={draft} onChange={setDraft} fault={fault} />
        </div>
      </section>
      {outdated !== undefined && <Outdated {...outdated} />}
      {error !== null && <Failure error={error} />}
      <div className="form-actions">
        <Button kind="primary" type="submit" isBusy={editing.isBusy}>
          {opened === undefined ? "Create target" : "Save"}
        </Button>
        <Button onClick={() => navigate(opened === undefined ? "/targets" : hrefOf(opened.thing))}>Cancel</Button>
      </div>
    </form>
  );
}
