import type { ReactNode } from "react";
import { Filters, isFiltered } from "../ui/filters.tsx";
import { PagedList, type PagedListProps } from "../ui/paged-list.tsx";
import { PageHead } from "./shell.tsx";
import type { View } from "./use-view.ts";

interface ListPageProps<Item> extends Omit<PagedListProps<Item>, "isFiltered"> {
  title: string;
  /** Beside the title: what can be created or done here. */
  actions?: ReactNode;
  about?: ReactNode;
  view: View;
  /** What stands in the address when the list is narrowed down. */
  filterNames: readonly string[];
  filters: ReactNode;
}

/** A page that lists things of one kind: its head, what narrows the list down, and the list. */
export function ListPage<Item>({ title, actions, about, view, filterNames, filters, ...list }: ListPageProps<Item>) {
  return (
    <>
      <PageHead title={title}>{actions}</PageHead>
      {about}
      <Filters view={view} names={filterNames}>
        {filters}
      </Filters>
      <PagedList {...list} isFiltered={isFiltered(view, filterNames)} />
    </>
  );
}
