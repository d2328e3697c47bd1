import { queryOptions } from "@tanstack/react-query";
import { getJson } from "../api/client.ts";
import type { Schemas } from "./json-schema.ts";

/** The shapes of the API's own document: forms are made of them, so that a new setting is there without a line here. */
export const schemasQuery = queryOptions({
  queryKey: ["schemas"],
  queryFn: async ({ signal }): Promise<Schemas> => {
    const document = await getJson<{ components: { schemas: Schemas } }>("/openapi.json", {}, signal);
    return document.components.schemas;
  },
  staleTime: Infinity,
});
