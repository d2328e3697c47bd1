import { useMutation, useQueryClient, type UseMutationResult } from "@tanstack/react-query";
import { useToast } from "./toasts.tsx";

interface Act<Wish, Answer> {
  run: (wish: Wish) => Promise<Answer>;
  /** The first parts of the keys of what is different afterwards. */
  changes: readonly string[];
  /** What is said when it is done. */
  says?: string | ((answer: Answer, wish: Wish) => string);
  onDone?: (answer: Answer, wish: Wish) => void;
  /** True where `onDone` goes to another page, because what this one shows is gone: it is not asked for again. */
  leavesPage?: boolean;
  /** True where the failure is shown in another way than by a toast. */
  isFailureShown?: (error: Error) => boolean;
}

/** Something that a person does to the gateway: it is told whether it worked, and what it changed is loaded again. */
export function useAct<Wish, Answer>(act: Act<Wish, Answer>): UseMutationResult<Answer, Error, Wish> {
  const client = useQueryClient();
  const toast = useToast();
  return useMutation({
    mutationFn: act.run,
    async onSuccess(answer, wish) {
      act.onDone?.(answer, wish);
      if (act.says !== undefined) toast.tell(typeof act.says === "string" ? act.says : act.says(answer, wish));
      const refetchType = act.leavesPage === true ? "none" : "active";
      await Promise.all(act.changes.map((name) => client.invalidateQueries({ queryKey: [name], refetchType })));
    },
    onError(error) {
      if (act.isFailureShown?.(error) !== true) toast.fail(error);
    },
  });
}
