import { queryOptions, useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { suggestName } from "../../../src/model/nearest-name.ts";
import { ApiError, getJson, sendJson } from "../api/client.ts";
import type { Page, Tenant } from "../api/types.ts";
import { Button } from "../ui/button.tsx";
import { useAction } from "../ui/use-action.ts";
import type { Described } from "./described.ts";
import { useSettled } from "./use-settled.ts";

/** As many as are offered while somebody types. */
const OFFERED = 500;

const offeredQuery = queryOptions({
  queryKey: ["tenants", "offered"],
  queryFn: ({ signal }) => getJson<Page<Tenant>>("/api/v1/tenants", { limit: OFFERED }, signal),
});

const existsQuery = (id: string) =>
  queryOptions({
    queryKey: ["tenants", "exists", id],
    queryFn: ({ signal }) => tenantExists(id, signal),
    enabled: id !== "",
  });

async function tenantExists(id: string, signal?: AbortSignal): Promise<boolean> {
  return getJson(`/api/v1/tenants/${encodeURIComponent(id)}`, {}, signal).then(
    () => true,
    (error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return false;
      throw error;
    },
  );
}

/** In the API the first thing that names a tenant creates it; here a misspelt id must not. */
export async function checkTenant(id: unknown): Promise<void> {
  if (typeof id !== "string" || id === "" || (await tenantExists(id))) return;
  const detail = `There is no tenant ${id}. Choose another one, or create it first.`;
  throw new ApiError({ status: 422, code: "invalid_field", field: "tenant_id" }, detail);
}

/** The same for `tenants`, where `*` stands for all. */
export async function checkTenants(ids: unknown): Promise<void> {
  const named = (Array.isArray(ids) ? ids.map(String) : []).filter((id) => id !== "*");
  const exist = await Promise.all(named.map((id) => tenantExists(id)));
  const missing = named.filter((_, index) => exist[index] === false);
  if (missing.length === 0) return;
  const detail = `There is no tenant ${missing.join(", ")}. Choose another one, or create it first.`;
  throw new ApiError({ status: 422, code: "invalid_field", field: "tenants" }, detail);
}

interface TenantControlProps {
  described: Pick<Described, "id"> & { "aria-describedby": string | undefined };
  value: string;
  onChange: (value: string) => void;
  placeholder?: string | undefined;
}

/** Chosen from the tenants that there are; another one is created by a click of its own. */
export function TenantControl({ described, value, onChange, placeholder }: TenantControlProps) {
  const listId = useId();
  const offered = useQuery(offeredQuery).data?.data ?? [];
  const { id } = useSettled({ id: value.trim() });
  const isMissing = useQuery(existsQuery(id)).data === false && id === value.trim();
  const create = useAction({
    run: () => sendJson<Tenant>("POST", "/api/v1/tenants", { id }),
    changes: ["tenants"],
    says: `The tenant ${id} is created.`,
  });
  return (
    <>
      <input
        {...described}
        className="input"
        list={listId}
        autoComplete="off"
        spellCheck={false}
        placeholder={placeholder}
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
      <datalist id={listId}>
        {offered.map((tenant) => (
          <option key={tenant.id} value={tenant.id}>
            {tenant.name}
          </option>
        ))}
      </datalist>
      <div role="status">
        {isMissing && (
          <p className="row-head small">
            <span>
              There is no tenant {id}
              {suggestName(
                id,
                offered.map((tenant) => tenant.id),
              ) || "."}
            </span>
            <Button isBusy={create.isPending} onClick={() => create.mutate(undefined)}>
              Create tenant {id}
            </Button>
          </p>
        )}
      </div>
    </>
  );
}
