import { useQueryClient } from "@tanstack/react-query";
import { useMemo, type FormEvent } from "react";
import { useLocation } from "wouter";
import { getVersioned, sendJson, type Versioned } from "../../api/client.ts";
import type { Subscription } from "../../api/types.ts";
import { concerns, withMember, type Draft } from "../../forms/draft.ts";
import type { Schemas } from "../../forms/json-schema.ts";
import { Members } from "../../forms/schema-field.tsx";
import { Section } from "../../forms/section.tsx";
import { checkTenant, checkTenants } from "../../forms/tenant-control.tsx";
import { useEditing } from "../../forms/use-editing.ts";
import { useSession } from "../../session/session.tsx";
import { Button } from "../../ui/button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Outdated } from "../../ui/outdated.tsx";
import { useToast } from "../../ui/toasts.tsx";
import { DestinationSection } from "./destination-section.tsx";
import { FilterBuilder } from "./filter-builder.tsx";
import { kindsFor, subscriptionFields, toDraft, type KindFields } from "./form-fields.ts";
import { labelOfKind } from "./kind-labels.ts";
import { isMatch, MatchPreview, useMatching } from "./match-preview.tsx";
import { CHANGED, hrefOfList, pathOf } from "./paths.ts";
import { TemplatePreview } from "./template-preview.tsx";

interface SubscriptionFormProps {
  schemas: Schemas;
  /** Undefined for a new one. */
  opened: Versioned<Subscription> | undefined;
  /** Of a new one: whose it is, unless somebody chooses another. */
  tenantId?: string | undefined;
}

export function SubscriptionForm({ schemas, opened, tenantId }: SubscriptionFormProps) {
  const session = useSession();
  const toast = useToast();
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const isNew = opened === undefined;
  const fields = useMemo(() => subscriptionFields(schemas, isNew), [schemas, isNew]);
  const id = opened?.thing.id ?? "";
  const editing = useEditing<Subscription>({
    opened,
    fields: fields.all,
    toDraft: (thing) => toDraft(thing, fields),
    preset: withMember({}, "tenant_id", tenantId),
    async save(body, etag) {
      await checkTenants(body["tenants"]);
      if (!isNew) return sendJson("PATCH", pathOf(id), body, etag);
      await checkTenant(body["tenant_id"]);
      return sendJson("POST", "/api/v1/subscriptions", body);
    },
    reload: () => getVersioned(pathOf(id)),
    onSaved(saved) {
      toast.show(opened === undefined ? `${saved.name} is created.` : `${saved.name} is saved.`);
      for (const warning of saved.warnings ?? []) toast.show(warning);
      for (const name of CHANGED) void client.invalidateQueries({ queryKey: [name] });
      navigate(`/subscriptions/${saved.id}`);
    },
  });
  const { draft, setDraft, fault, error, outdated } = editing;
  const kinds = kindsFor(fields.kinds, session);
  const kindName = opened?.thing.kind ?? String(draft["kind"] ?? fields.usualKind);
  const kind = kinds.find(({ name }) => name === kindName);
  const events = listOf(draft["events"]);
  // Its owner is fixed from the beginning: one of a tenant cannot become one for several, nor the other way round.
  const isForSeveral = isNew ? draft["tenants"] !== undefined : opened.thing.tenants !== null;
  const isShown = (name: string) =>
    name === "tenant_id"
      ? session.tenant_id === null && !isForSeveral
      : name !== "tenants" || (session.tenant_id === null && (isNew || isForSeveral));
  const matching = useMatching({
    events,
    sources: draft["sources"] === undefined ? undefined : listOf(draft["sources"]),
    filter: draft["event_filter"],
    tenantId: isForSeveral
      ? undefined
      : (opened?.thing.tenant_id ?? session.tenant_id ?? String(draft["tenant_id"] ?? "default")),
  });
  const sample = (matching.data?.find(isMatch) ?? matching.data?.[0])?.event.event_id;
  const members = { path: "", draft, onChange: setDraft, fault };
  const isWrong = (among: readonly { name: string }[]) => among.some(({ name }) => concerns(fault, name));

  function submit(event: FormEvent): void {
    event.preventDefault();
    editing.submit();
  }

  return (
    <div className="columns columns-event">
      <form className="stack" onSubmit={submit} noValidate>
        <Section title="What it is called" isOpenAtFirst>
          <Members {...members} fields={fields.what.filter(({ name }) => isShown(name))} />
        </Section>
        <Section title="Where events go" isOpenAtFirst>
          {opened === undefined && (
            <KindChoice
              kinds={kinds}
              value={kindName}
              onChange={(chosen) => setDraft(ofKind(draft, chosen, fields.kinds))}
            />
          )}
          {kind === undefined ? (
            <p className="muted">This page does not know the kind {kindName}. Its settings stay as they are.</p>
          ) : (
            <DestinationSection key={kindName} kind={kind} draft={draft} onChange={setDraft} fault={fault} />
          )}
        </Section>
        <Section title="Which events" isOpenAtFirst>
          <Members {...members} fields={fields.which.filter(({ name }) => name !== "event_filter")} />
          <FilterBuilder
            value={draft["event_filter"]}
            onChange={(filter) => setDraft(withMember(draft, "event_filter", filter))}
            fault={fault}
          />
        </Section>
        <Section title="Retries, rate and order" isWrong={isWrong(fields.tries)}>
          <Members {...members} fields={fields.tries} />
        </Section>
        <Section title="More settings" isWrong={isWrong(fields.rest)}>
          <Members {...members} fields={fields.rest} />
        </Section>
        {outdated !== undefined && <Outdated {...outdated} />}
        {error !== null && <Failure error={error} />}
        <div className="form-actions">
          <Button kind="primary" type="submit" isBusy={editing.isBusy}>
            {opened === undefined ? "Create subscription" : "Save"}
          </Button>
          <Button onClick={() => navigate(opened === undefined ? hrefOfList(tenantId) : `/subscriptions/${id}`)}>
            Cancel
          </Button>
        </div>
      </form>
      <div className="stack beside-form">
        <MatchPreview events={events} query={matching} />
        {kind !== undefined && (
          <TemplatePreview kind={kindName} settings={settingsOf(draft, kind)} events={events} eventId={sample} />
        )}
      </div>
    </div>
  );
}

interface KindChoiceProps {
  kinds: readonly KindFields[];
  value: string;
  onChange: (kind: string) => void;
}

function KindChoice({ kinds, value, onChange }: KindChoiceProps) {
  return (
    <label className="field" data-field="kind">
      <span>Kind of destination</span>
      <select className="input" value={value} onChange={({ target }) => onChange(target.value)}>
        {kinds.map(({ name }) => (
          <option key={name} value={name}>
            {labelOfKind(name)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Settings of another kind do not come along. */
function ofKind(draft: Draft, chosen: string, kinds: readonly KindFields[]): Draft {
  const flat = new Set(kinds.filter(({ isFlat }) => isFlat).flatMap(({ fields }) => fields.map(({ name }) => name)));
  const shared = Object.entries(draft).filter(([name]) => !flat.has(name) && name !== "destination");
  const isFlat = kinds.find(({ name }) => name === chosen)?.isFlat === true;
  return { ...Object.fromEntries(shared), kind: chosen, ...(!isFlat && { destination: {} }) };
}

function settingsOf(draft: Draft, { isFlat, fields }: KindFields): Draft {
  if (!isFlat) return (draft["destination"] ?? {}) as Draft;
  return Object.fromEntries(fields.flatMap(({ name }) => (name in draft ? [[name, draft[name]]] : [])));
}

function listOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
