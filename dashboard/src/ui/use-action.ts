import { useMutation, useQueryClient, type UseMutationResult } from "@tanstack/react-query";
import { useToast } from "./toasts.tsx";

interface Action<Input, Answer> {
  run: (input: Input) => Promise<Answer>;
  /** The first parts of the keys of what is different afterwards. */
  changes: readonly string[];
  /** What is said when it is done. */
  says?: string | ((answer: Answer, input: Input) => string);
  onDone?: (answer: Answer, input: Input) => void;
  /** True where `onDone` goes to another page, because what this one shows is gone: it is not asked for again. */
  leavesPage?: boolean;
  /** True where the failure is shown in another way than by a toast. */
  isFailureShown?: (error: Error) => boolean;
}

/** Something that a person does to the gateway: the result is shown, and what it changed is loaded again. */
export function useAction<Input, Answer>(action: Action<Input, Answer>): UseMutationResult<Answer, Error, Input> {
  const client = useQueryClient();
  const toast = useToast();
  return useMutation({
    mutationFn: action.run,
    async onSuccess(answer, input) {
      action.onDone?.(answer, input);
      if (action.says !== undefined)
        toast.show(typeof action.says === "string" ? action.says : action.says(answer, input));
      const refetchType = action.leavesPage === true ? "none" : "active";
      await Promise.all(action.changes.map((name) => client.invalidateQueries({ queryKey: [name], refetchType })));
    },
    onError(error) {
      if (action.isFailureShown?.(error) !== true) toast.fail(error);
    },
  });
}
